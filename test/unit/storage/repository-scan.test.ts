import { expect, test } from "vitest";
import { neverAborted, systemClock, systemRandom } from "../../../src/base/index.ts";
import { RepositoryScan } from "../../../src/storage/index.ts";
import { decodeRepositoryPath, encodeRepositoryPath } from "../../../src/storage/keys.ts";
import { failureOf } from "../../support/failure-of.ts";
import { MemoryObjectStore } from "../../support/memory-object-store.ts";
import { provenStorage, push } from "../../support/scratch-storage.ts";

const scanOf = (store: MemoryObjectStore) => new RepositoryScan({ store, clock: systemClock, random: systemRandom });
const longPath = `group/${"x".repeat(160)}.git`;

async function namesOf(scan: RepositoryScan): Promise<(string | undefined)[]> {
  const found: (string | undefined)[] = [];
  for await (const page of scan.pages(neverAborted)) found.push(...page.map(({ path }) => path));
  return found;
}

test("a path is read back from its key, unless that holds only its digest", () => {
  for (const path of ["a.git", "A/b%2f c.git", "ä/\u{1f600}", "-_0", "@hashed/ab/cd/x.git"]) {
    expect(decodeRepositoryPath(encodeRepositoryPath(path))).toBe(path);
  }
  // Not made by the encoding: an escape that is none or need not be, text that is no UTF-8, another scheme.
  for (const key of [encodeRepositoryPath(longPath), "p.%6", "p.%61", "p.A", "p.%ff", "p.%FF", "q.a", "a", ""]) {
    expect(decodeRepositoryPath(key)).toBeUndefined();
  }
});

test("a scan names every repository, removed ones and long paths too, and reads the newest record of each", async () => {
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  for (const path of ["a.git", "b/c.git", longPath])
    await storage.create(path, { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);
  const { generation } = await push(storage, (await storage.newest("a.git", neverAborted)) as never, ["x 0 1", "y 0 2"]);
  await storage.remove("b/c.git", neverAborted);
  const scan = scanOf(store);
  expect((await namesOf(scan)).sort()).toEqual(["a.git", "b/c.git", undefined]);
  for await (const page of scan.pages(neverAborted)) {
    const newest = await Promise.all(page.map((name) => scan.newest(name, neverAborted)));
    expect(newest.map((one) => `${one?.path} ${one?.n} ${one?.state}`).sort()).toEqual([
      "a.git 2 live",
      "b/c.git 2 deleted",
      `${longPath} 1 live`,
    ]);
  }
  expect(await scan.newest("a.git", neverAborted)).toEqual(generation);
  expect(await scan.newest("never.git", neverAborted)).toBeUndefined();
  expect(await scan.refCount(generation, neverAborted)).toBe(2);
  expect([await scan.hasNewer("a.git", 1, neverAborted), await scan.hasNewer("a.git", 2, neverAborted)]).toEqual([true, false]);
});

test("a list that breaks off is an error, not a shorter list", async () => {
  let lists = 0;
  const store = new MemoryObjectStore({ intercept: (op) => (op === "list" && ++lists === 2 ? "dropped" : undefined) });
  for (let i = 0; i < 1001; i++) store.objects.set(`repos/p.r${i}/g/1ffffffffffffe`, { bytes: new Uint8Array(), lastModifiedMs: 0 });
  expect(await failureOf(namesOf(scanOf(store)))).toMatchObject({ code: "store_unavailable" });
  expect((await namesOf(scanOf(store))).length).toBe(1001);
});
