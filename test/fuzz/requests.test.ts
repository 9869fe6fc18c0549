import fc from "fast-check";
import { expect, test } from "vitest";
import { CodedError, checkRelativePath } from "../../src/base/index.ts";
import { parseRepositoryUrl, redirectUrl } from "../../src/gateway/repository-url.ts";
import type { RepositoryView } from "../../src/git/index.ts";
import { lsRefs } from "../../src/git/ls-refs.ts";
import { encodePkt, PktReader } from "../../src/git/pkt-line.ts";
import { resolveRevision } from "../../src/git/revision.ts";
import { parseCommit } from "../../src/services/commit/parse-commit.ts";
import { pageToken, pageTokenName } from "../../src/services/ref/page-token.ts";
import { compileRefPattern } from "../../src/services/ref/ref-pattern.ts";
import { refViewOf } from "../support/git-fixture.ts";

const runs = { numRuns: 2000, interruptAfterTimeLimit: 15_000 };
const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array).toString("latin1"));
const oid = "1".repeat(40);
const view: RepositoryView = {
  objectFormat: "sha1",
  head: "refs/heads/main",
  refs: refViewOf([{ name: "refs/heads/main", oid }]),
  snapshot: () => Promise.reject(new Error("not needed")),
};

/** Text made of the pieces that its reader looks for, and of others. */
const textOf = (...pieces: string[]) =>
  fc.array(fc.oneof(fc.constantFrom(...pieces), bytes), { maxLength: 10 }).map((parts) => parts.join(""));

function ends<T>(code: string, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    expect(CodedError.is(error) && error.code).toBe(code);
    return undefined;
  }
}

test("any target of a request names a legal repository, is none of git's, or is refused", () => {
  fc.assert(
    fc.property(
      textOf("/", "-/hop/1/", "..", "%2f", "%2e", "%", "%00", "http://h", "?", "a.git", "/info/refs", "/git-upload-pack"),
      (text) => {
        const url = ends("invalid_path", () => parseRepositoryUrl(text));
        if (!url) return;
        expect(checkRelativePath(url.path)).toBe(url.path);
        const location = redirectUrl("http://h:1", url.path, "service=git-upload-pack");
        expect(new URL(location).href).toBe(location);
        const followed = parseRepositoryUrl(location);
        expect(followed).toMatchObject({ path: url.path, redirected: true, route: "info/refs" });
      },
    ),
    runs,
  );
});

test("any arguments of ls-refs are answered in whole packets or refused", async () => {
  const line = textOf("ref-prefix ", "refs/", "HEAD", "peel", "symrefs", "unborn", "object-format=", "sha1", "\n").map(encodePkt);
  const packets = fc.array(fc.oneof(line, fc.constantFrom("0001", "0000", "0002").map(Buffer.from)), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(packets, async (parts) => {
      const source = (async function* () {
        yield Buffer.concat(parts);
      })();
      try {
        expect(Buffer.from(await lsRefs(view, new PktReader({ maxBytes: 10_000 }, source))).subarray(-4)).toEqual(Buffer.from("0000"));
      } catch (error) {
        expect(CodedError.is(error, "protocol_error")).toBe(true);
      }
    }),
    runs,
  );
});

test("any revision is an object's name, nothing, or refused", () => {
  fc.assert(
    fc.property(textOf("main", "HEAD", "@", "^", "~1", "^{}", "^{commit}", oid, "-", ":"), (text) => {
      const name = ends("invalid_argument", () => resolveRevision(view, text));
      if (name !== undefined) expect(name).toMatch(/^[0-9a-f]{4,40}(?:[\^~][0-9]*|\^\{[a-z]*\})*$/);
    }),
    runs,
  );
});

test("any pattern is compiled and asked in no time, and any name survives as a page token", () => {
  fc.assert(
    fc.property(textOf("refs/", "*", "**/", "?", "[", "]", "[!a-", "[[:alpha:]]", "\\"), bytes, (pattern, name) => {
      expect(typeof compileRefPattern(pattern).matches(`refs/${name}`)).toBe("boolean");
      expect(pageTokenName(pageToken(`refs/${name}`))).toBe(`refs/${name}`);
    }),
    runs,
  );
});

test("any object reads as some commit", () => {
  fc.assert(
    fc.property(textOf("author ", "committer ", "a <b> 1 +0000", "\n", "\n\n", "gpgsig ", "Key: value\n", "tree ", " "), (text) => {
      const commit = parseCommit(oid, Buffer.from(text, "latin1"), { trailers: true });
      expect(commit).toMatchObject({ id: oid });
      expect(Number(commit.bodySize)).toBeLessThanOrEqual(text.length);
    }),
    runs,
  );
});
