import { expect, test } from "vitest";
import { CodedError, neverAborted, systemClock, systemRandom } from "../../../src/base/index.ts";
import { type ListRequest, type ObjectStore, probeStore } from "../../../src/storage/index.ts";
import { MemoryObjectStore } from "../../support/memory-object-store.ts";
import { provenStorage } from "../../support/scratch-storage.ts";

const probe = (store: ObjectStore) =>
  probeStore({ store, clock: systemClock, random: systemRandom }, { probeTimeoutMs: 10_000 }, neverAborted);

test("a store that keeps the contract is proven, and the probe leaves nothing behind", async () => {
  const store = new MemoryObjectStore();
  expect(await probe(store)).toEqual({ state: "proven", message: "" });
  expect(store.requests.length).toBeGreaterThan(20);
  expect([...store.objects.keys()]).toEqual([]);
});

// B146
test("a store that ignores the condition of create-only writes is for reads only, and the verdict says why", async () => {
  const store = new MemoryObjectStore({ intercept: (op) => (op === "create" ? "ignoreCondition" : undefined) });
  const health = await probe(store);
  expect(health).toMatchObject({ state: "read_only", code: "store_refuses_writes", message: expect.stringContaining("If-None-Match") });
  await using storage = provenStorage(store);
  await storage.probe(neverAborted);
  await expect(storage.create("a", { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted)).rejects.toMatchObject({
    code: "store_refuses_writes",
    message: expect.stringContaining("If-None-Match"),
  });
  expect(await storage.newest("a", neverAborted)).toBeUndefined();
});

test("a store that lets two of several concurrent creates win is for reads only", async () => {
  let creates = 0;
  const store = new MemoryObjectStore({ intercept: (op) => (op === "create" && ++creates === 12 ? "ignoreCondition" : undefined) });
  expect(await probe(store)).toMatchObject({ state: "read_only", message: expect.stringContaining("2 of 16") });
});

test("a store that refuses create-only writes is for reads only, with its answer", async () => {
  const store = new MemoryObjectStore();
  store.createIfAbsent = async () => ({ outcome: "unknown", detail: "501 NotImplemented", refused: true });
  expect(await probe(store)).toMatchObject({ state: "read_only", message: expect.stringContaining("501 NotImplemented") });
});

test("a store whose medium is read-only is for reads only, with its answer", async () => {
  const refusal = new CodedError("store_unavailable", "the object store's directory cannot be used", { answer: "EROFS", refused: true });
  const store = Object.assign(new MemoryObjectStore(), { createIfAbsent: () => Promise.reject(refusal) });
  expect(await probe(store)).toMatchObject({
    state: "read_only",
    code: "store_refuses_writes",
    message: "the store refuses writes: EROFS",
  });
});

test("a new key that is called occupied is a verdict, unless the probe's own write is what stands there", async () => {
  const store = new MemoryObjectStore();
  const create = store.createIfAbsent.bind(store);
  let applied = true;
  store.createIfAbsent = async (key, body, signal) => {
    if (applied) await create(key, body, signal);
    return { outcome: "occupied" };
  };
  expect(await probe(store)).toEqual({ state: "proven", message: "" });
  applied = false;
  expect(await probe(store)).toMatchObject({ state: "read_only", message: expect.stringContaining("occupied") });
});

test("a store whose reads lag behind its writes is broken", async () => {
  const store = new MemoryObjectStore();
  const get = store.get.bind(store);
  store.get = async (key, maxBytes, signal) => (key.endsWith("read") ? undefined : await get(key, maxBytes, signal));
  expect(await probe(store)).toMatchObject({ state: "broken", message: expect.stringContaining("read") });
});

test("a store that lists in another order is broken", async () => {
  const store = new MemoryObjectStore();
  const list = store.list.bind(store);
  store.list = async (request: ListRequest, signal) => {
    const page = await list(request, signal);
    return { ...page, objects: [...page.objects].sort((a, b) => a.key.localeCompare(b.key)) };
  };
  expect(await probe(store)).toMatchObject({ state: "broken", message: expect.stringContaining("order") });
});

test("a store that cannot be reached, or loses answers, is unproven and can be tried again", async () => {
  let down = true;
  const store = new MemoryObjectStore({ intercept: () => (down ? "dropped" : undefined) });
  await using storage = provenStorage(store);
  expect(await storage.probe(neverAborted)).toMatchObject({ state: "unproven", code: "store_unavailable" });
  await expect(storage.create("a", { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted)).rejects.toMatchObject({
    code: "store_unavailable",
  });
  down = false;
  expect(await storage.probe(neverAborted)).toEqual({ state: "proven", message: "" });
  expect(storage.health.state).toBe("proven");
});
