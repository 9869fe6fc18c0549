import { expect, test } from "vitest";
import { CodedError } from "../../../../src/base/index.ts";
import { findCommit } from "../../../../src/services/commit/find-commit.ts";
import { repositoryMessage, ServicesFixture } from "../../../support/services-fixture.ts";

const oid = "c".repeat(40);
const content = Buffer.from("tree x\nauthor A <a> 1 +0000\n\nhello\n");
const ask = (fixture: ServicesFixture, revision: string, path = "a.git") =>
  findCommit(fixture.deps)(
    { repository: repositoryMessage(path), revision: Buffer.from(revision, "latin1"), trailers: false },
    fixture.call(),
  );

test("a revision is looked up by its bytes", async () => {
  const fixture = new ServicesFixture();
  fixture.add("a.git");
  fixture.objects.set("refs/heads/\xc4hh", { oid, type: "commit", sizeBytes: content.length, content });
  expect((await ask(fixture, "refs/heads/\xc4hh")).commit).toMatchObject({ id: oid, subject: Buffer.from("hello") });
  expect(fixture.openLeases).toBe(0);
});

test("an unknown revision is an answer without a commit, an unknown repository an error", async () => {
  const fixture = new ServicesFixture();
  fixture.add("a.git");
  expect(await ask(fixture, "nothing")).toEqual({});
  await expect(ask(fixture, "main", "b.git")).rejects.toMatchObject({ code: "repository_not_found" });
});

// B103
test.each([
  ["", "empty revision"],
  ["-main", "revision can't start with '-'"],
  ["--output=/tmp/pwn", "revision can't start with '-'"],
  ["wrong name", "revision can't contain whitespace"],
  ["a\0b", "revision can't contain NUL"],
  ["a:b", "revision can't contain ':'"],
  ["a\\b", "revision can't contain '\\'"],
  ["x".repeat(4097), "revision is too long"],
])("the revision %j is refused before any work", async (revision, message) => {
  const fixture = new ServicesFixture();
  await expect(ask(fixture, revision)).rejects.toMatchObject({ code: "invalid_argument", message });
});

// B09
test("a commit that git cannot read from a damaged file is read again once the file is replaced", async () => {
  const fixture = new ServicesFixture();
  fixture.add("a.git");
  let reads = 0;
  let reports = 0;
  fixture.git = {
    readObject: async () => {
      if (++reads === 1) throw new CodedError("git_failed", "bad object");
      return { oid, type: "commit", sizeBytes: 1, content };
    },
  };
  fixture.cache = { reportDamage: async () => ++reports };
  expect((await ask(fixture, "main")).commit?.id).toBe(oid);
  expect([reads, reports]).toEqual([2, 1]);
});

test("git that fails without damage is asked once", async () => {
  const fixture = new ServicesFixture();
  fixture.add("a.git");
  let reads = 0;
  fixture.git = {
    readObject: async () => {
      reads++;
      throw new CodedError("git_failed", "no luck");
    },
  };
  await expect(ask(fixture, "main")).rejects.toMatchObject({ code: "git_failed" });
  expect(reads).toBe(1);
  expect(fixture.openLeases).toBe(0);
});

test("a ref whose object git does not find is never an answer without a commit", async () => {
  const fixture = new ServicesFixture();
  fixture.add("a.git", { "refs/heads/main": oid });
  for (const revision of ["main", "HEAD", "heads/main", "refs/heads/main"]) {
    await expect(ask(fixture, revision)).rejects.toMatchObject({ code: "corrupt" });
  }
});

test("a tag of something that is no commit is an answer without a commit", async () => {
  const fixture = new ServicesFixture();
  fixture.add("a.git", { "refs/tags/blob": oid });
  fixture.git = { readObject: async (_view, _revision, as) => (as === "any" ? { oid, type: "blob", sizeBytes: 1, content } : undefined) };
  expect(await ask(fixture, "blob")).toEqual({});
});
