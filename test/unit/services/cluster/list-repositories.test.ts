import { expect, test } from "vitest";
import { CodedError } from "../../../../src/base/index.ts";
import { catalogEntry } from "../../../../src/services/catalog-entry.ts";
import { listRepositories } from "../../../../src/services/cluster/list-repositories.ts";
import { collect, fakeGeneration, fakeMember, fakeView, ServicesFixture } from "../../../support/services-fixture.ts";

function fixtureWith(paths: readonly string[]): ServicesFixture {
  const fixture = new ServicesFixture();
  const entries = [...paths].sort().map((path) => catalogEntry(fakeGeneration(path), 3));
  fixture.catalog = {
    list: async ({ prefix, after, limit }) => {
      if (limit > 1000) throw new Error("page too large");
      return entries.filter(({ path }) => path.startsWith(prefix) && path > after).slice(0, limit);
    },
  };
  return fixture;
}

async function list(fixture: ServicesFixture, prefix: string, pageToken = "", limit = 0) {
  const messages = await collect(listRepositories(fixture.deps)({ prefix, paginationParams: { pageToken, limit } }, fixture.call()));
  return {
    paths: messages.flatMap(({ repositories = [] }) => repositories.map(({ relativePath }) => relativePath)),
    cursor: messages.at(-1)?.paginationCursor?.nextCursor,
    messages,
  };
}

test("a repository is listed with what the catalog knows", async () => {
  const fixture = fixtureWith(["a.git"]);
  fixture.setView(fakeView([fakeMember("n1")], 3));
  const { messages } = await list(fixture, "");
  expect(messages[0]?.repositories).toEqual([
    {
      relativePath: "a.git",
      id: "id-of-a.git",
      objectFormat: "sha1",
      defaultBranch: Buffer.from("main"),
      generation: "1",
      replicas: 3,
      sizeBytes: "0",
      refs: "3",
      packs: "0",
      createdAtMs: "1000",
      updatedAtMs: "2000",
    },
  ]);
});

test("all repositories come, however many pages the catalog needs", async () => {
  const paths = Array.from({ length: 2500 }, (_, i) => `g/${String(i).padStart(5, "0")}.git`);
  const { paths: found, cursor } = await list(fixtureWith(paths), "g/");
  expect(found).toEqual(paths);
  expect(cursor).toBeUndefined();
});

test("pages of the caller's size follow one another", async () => {
  const fixture = fixtureWith(["a", "b", "c", "x"]);
  const first = await list(fixture, "", "", 2);
  expect(first).toMatchObject({ paths: ["a", "b"], cursor: "b" });
  expect(await list(fixture, "", first.cursor, 2)).toMatchObject({ paths: ["c", "x"], cursor: undefined });
});

test("without the database listings fail, and say so", async () => {
  const fixture = new ServicesFixture();
  fixture.catalog = {
    list: async () => {
      throw new CodedError("database_unavailable", "no server answers");
    },
  };
  await expect(list(fixture, "")).rejects.toMatchObject({ code: "database_unavailable" });
});

test.each(["x".repeat(1025), "a\0b", "\ud800"])("the prefix %j is refused", async (prefix) => {
  await expect(list(fixtureWith([]), prefix)).rejects.toMatchObject({ code: "invalid_argument" });
});
