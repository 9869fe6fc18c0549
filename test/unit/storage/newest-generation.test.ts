import { expect, test } from "vitest";
import { neverAborted } from "../../../src/base/index.ts";
import type { Generation, ProbedRepositoryStorage } from "../../../src/storage/index.ts";
import { MemoryObjectStore } from "../../support/memory-object-store.ts";
import { provenStorage, push } from "../../support/scratch-storage.ts";

const create = (storage: ProbedRepositoryStorage) =>
  storage.create("a/b.git", { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);
const newest = async (storage: ProbedRepositoryStorage) => (await storage.newest("a/b.git", neverAborted)) as Generation;

test("a reader that is far behind asks for the newest instead of walking", async () => {
  const store = new MemoryObjectStore();
  await using a = provenStorage(store);
  const other = new MemoryObjectStore({}, store.objects);
  await using b = provenStorage(other);
  let generation = await create(a);
  await newest(b);
  for (let i = 0; i < 30; i++) generation = (await push(a, generation, [`b${i} 0 1`])).generation;
  other.requests.splice(0);
  expect(await newest(b)).toEqual(generation);
  expect(other.requests.map(({ op }) => op)).toEqual([...Array.from({ length: 8 }, () => "get"), "list", "get"]);
});

test("concurrent reads share a probe only when it is sent after they came", async () => {
  const waiting: (() => void)[] = [];
  let hold = false;
  const store = new MemoryObjectStore({
    intercept: async () => {
      if (hold) await new Promise<void>((resolve) => waiting.push(resolve));
      return undefined;
    },
  });
  await using storage = provenStorage(store);
  await create(storage);
  hold = true;
  store.requests.splice(0);
  const early = newest(storage);
  const late = Array.from({ length: 5 }, () => newest(storage));
  expect(store.requests).toHaveLength(1);
  waiting.shift()?.();
  await early;
  await new Promise((resolve) => setImmediate(resolve));
  expect(store.requests).toHaveLength(2);
  waiting.shift()?.();
  await Promise.all(late);
  expect(store.requests).toHaveLength(2);
});

test("a caller that leaves does not end the probe of those who stay", async () => {
  let release = () => {};
  let hold = false;
  const store = new MemoryObjectStore({
    intercept: async () => {
      if (hold) await new Promise<void>((resolve) => (release = resolve));
      return undefined;
    },
  });
  await using storage = provenStorage(store);
  const base = await create(storage);
  hold = true;
  const leaving = new AbortController();
  const gone = storage.newest("a/b.git", leaving.signal);
  const queued = new AbortController();
  const alsoGone = storage.newest("a/b.git", queued.signal);
  queued.abort(new Error("left"));
  await expect(alsoGone).rejects.toThrow("left");
  const staying = storage.newest("a/b.git", neverAborted);
  leaving.abort(new Error("left"));
  await expect(gone).rejects.toThrow("left");
  hold = false;
  release();
  expect(await staying).toEqual(base);
});
