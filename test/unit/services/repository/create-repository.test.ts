import { expect, test } from "vitest";
import { createRepository } from "../../../../src/services/repository/create-repository.ts";
import { repositoryMessage, ServicesFixture } from "../../../support/services-fixture.ts";

const request = (path: string, defaultBranch = "", objectFormat = "OBJECT_FORMAT_UNSPECIFIED") => ({
  repository: repositoryMessage(path),
  defaultBranch: Buffer.from(defaultBranch, "latin1"),
  objectFormat: objectFormat as "OBJECT_FORMAT_UNSPECIFIED",
});

test("a new repository is SHA-1 with HEAD at main unless the request says otherwise", async () => {
  const fixture = new ServicesFixture();
  await createRepository(fixture.deps)(request("a.git"), fixture.call());
  await createRepository(fixture.deps)(request("b.git", "tr\xfcnk/x", "OBJECT_FORMAT_SHA256"), fixture.call());
  expect(fixture.repositories.get("a.git")?.generation).toMatchObject({ objectFormat: "sha1", head: "refs/heads/main" });
  expect(fixture.repositories.get("b.git")?.generation).toMatchObject({ objectFormat: "sha256", head: "refs/heads/tr\xfcnk/x" });
});

test("the catalog hears of a new repository", async () => {
  const fixture = new ServicesFixture();
  await createRepository(fixture.deps)(request("a.git"), fixture.call());
  expect(fixture.recorded).toMatchObject([{ path: "a.git", generation: 1, refCount: 0, packCount: 0, head: "refs/heads/main" }]);
});

test("a path that is taken is refused", async () => {
  const fixture = new ServicesFixture();
  fixture.add("a.git");
  await expect(createRepository(fixture.deps)(request("a.git"), fixture.call())).rejects.toMatchObject({ code: "repository_exists" });
  expect(fixture.recorded).toEqual([]);
});

test.each(["../a", "a//b", "/a", "a/", "", "a\0b"])("the path %j is refused before any work", async (path) => {
  const fixture = new ServicesFixture();
  await expect(createRepository(fixture.deps)(request(path), fixture.call())).rejects.toMatchObject({ code: "invalid_path" });
  expect(fixture.repositories.size).toBe(0);
});

// B103
test.each([
  "-x",
  "--upload-pack=x",
  "a b",
  "a..b",
  "a.lock",
  "x/.y",
  "a@{1}",
  "a~1",
  "a^",
  "a:b",
  "a\\b",
  "a?",
  "a*",
  "a[",
  "/a",
  "a/",
  "a//b",
  "a.",
  "HEAD",
  "\x01",
  "a\x7f",
  "x.lock/y",
  "x".repeat(990),
])("the default branch %j is refused", async (branch) => {
  const fixture = new ServicesFixture();
  await expect(createRepository(fixture.deps)(request("a.git", branch), fixture.call())).rejects.toMatchObject({
    code: "invalid_argument",
  });
  expect(fixture.repositories.size).toBe(0);
});

test("an object format of which this version knows nothing is refused, not taken for another", async () => {
  const fixture = new ServicesFixture();
  const asked = { ...request("a.git"), objectFormat: 7 as unknown as "OBJECT_FORMAT_UNSPECIFIED" };
  await expect(createRepository(fixture.deps)(asked, fixture.call())).rejects.toMatchObject({
    code: "invalid_argument",
    message: "unknown object format",
  });
  expect(fixture.repositories.size).toBe(0);
});
