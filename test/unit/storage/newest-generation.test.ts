import { expect, test } from "vitest";
import { neverAborted } from "../../../src/base/index.ts";
import { encodeGeneration } from "../../../src/storage/generation-codec.ts";
import type { Generation, ProbedRepositoryStorage } from "../../../src/storage/index.ts";
import { slotKey } from "../../../src/storage/keys.ts";
import { successor } from "../../../src/storage/successor.ts";
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

test("a list that shows an older generation than this node has seen is corrupt, never an older answer", async () => {
  const store = new MemoryObjectStore();
  await using writer = provenStorage(store);
  const other = new MemoryObjectStore({}, store.objects);
  await using reader = provenStorage(other);
  const first = await create(writer);
  await newest(reader);
  let generation = first;
  for (let i = 0; i < 10; i++) generation = (await push(writer, generation, [`b${i} 0 1`])).generation;
  const list = other.list.bind(other);
  other.list = async (request, signal) => {
    const { objects } = await list({ ...request, maxKeys: 1000 }, signal);
    return { objects: objects.slice(-1), prefixes: [], next: undefined };
  };
  await expect(newest(reader)).rejects.toMatchObject({ code: "corrupt", fields: { known: 9, found: 1 } });
});

test("a generation that does not continue the one before it is corrupt for readers and for a push that meets it", async () => {
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  const base = await create(storage);
  const by = { txid: "e".repeat(32), writer: "x", writtenAtMs: 0 };
  const { bytes } = encodeGeneration({ ...successor(base, by), parentDigest: "f".repeat(64) });
  store.objects.set(slotKey("p.a%2fb%2egit", 2), { bytes, lastModifiedMs: 0 });
  const broken = { code: "corrupt", message: "a generation does not continue the one before it" };
  await expect(newest(storage)).rejects.toMatchObject(broken);
  await expect(push(storage, base, ["main 0 1"])).rejects.toMatchObject(broken);
});

test("what is known of repositories is bounded in bytes: what was dropped is asked for as by a new node", async () => {
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store, { knownGenerationsBytes: 2000 });
  for (const path of ["a/b.git", "c"]) await storage.create(path, { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);
  const requestsOf = async (path: string) => {
    store.requests.splice(0);
    await storage.newest(path, neverAborted);
    return store.requests.map(({ op }) => op);
  };
  expect(await requestsOf("c")).toEqual(["get"]);
  expect(await requestsOf("a/b.git")).toEqual(["list", "get"]);
  expect(await requestsOf("c")).toEqual(["list", "get"]);
});
