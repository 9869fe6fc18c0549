import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { compileRefPattern } from "../../src/services/ref/ref-pattern.ts";

const dir = mkdtempSync(join(tmpdir(), "ref-patterns-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const env = { PATH: process.env["PATH"], GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1", HOME: dir };
const oid = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/** Every path of one to four of these segments below refs/, as far as they can stand side by side. */
const names = ["a", "b", "ab", "a-b", "a.b", "A1", "1", "]", "x!y", "-a"]
  .flatMap((first) => ["", "/a", "/b/a", "/ab/1/]"].map((rest) => `refs/${first}${rest === "" ? "-leaf" : rest}`))
  .sort();

execFileSync("git", ["init", "-q", "--bare", dir], { env });
writeFileSync(join(dir, "packed-refs"), `# pack-refs with: sorted \n${names.map((name) => `${oid} ${name}\n`).join("")}`);

function gitMatches(pattern: string): string[] {
  const output = execFileSync("git", ["-C", dir, "for-each-ref", "--format=%(refname)", "--", pattern], { env }).toString("latin1");
  return output.split("\n").filter((line) => line !== "");
}

const piece = fc.constantFrom(
  "refs/",
  "a",
  "b",
  "ab",
  "-",
  "1",
  "/",
  "/",
  "*",
  "**",
  "**/",
  "/**",
  "?",
  "[ab]",
  "[!a]",
  "[^b]",
  "[a-z]",
  "[]a]",
  "[[:digit:]]",
  "[[:upper:]b]",
  "[[:no:]]",
  "\\a",
  "\\*",
  "[",
  "[a",
  "]",
  "!",
  "[a-]",
  "[\\]]",
  "leaf",
);
const pattern = fc.oneof(
  fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join("")),
  fc.array(piece, { minLength: 0, maxLength: 6 }).map((pieces) => `refs/${pieces.join("")}`),
);

test("a pattern selects the refs that git for-each-ref selects", () => {
  fc.assert(
    fc.property(pattern, (text) => {
      const { prefix, matches } = compileRefPattern(text);
      const found = names.filter((name) => matches(name));
      expect(found).toEqual(gitMatches(text));
      expect(found.every((name) => name.startsWith(prefix))).toBe(true);
    }),
    { numRuns: 300 },
  );
});
