import { expect, test } from "vitest";
import { type Clock, neverAborted } from "../../../src/base/index.ts";
import type { Generation, ProbedRepositoryStorage } from "../../../src/storage/index.ts";
import { type MemoryFault, MemoryObjectStore, type StoreOp } from "../../support/memory-object-store.ts";
import { provenStorage, push, refsOf } from "../../support/scratch-storage.ts";

/** Sleeping takes no time; timers fire when told to. */
function handClock(): Clock & { fire: () => void } {
  const timers = new Set<() => void>();
  return {
    now: () => 0,
    monotonic: () => 0,
    sleep: async (_ms, signal) => {
      await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
    },
    timer: (_ms, fn) => {
      timers.add(fn);
      return { [Symbol.dispose]: () => void timers.delete(fn) };
    },
    fire: () => {
      for (const fn of [...timers]) {
        timers.delete(fn);
        fn();
      }
    },
  };
}

/** A store whose next requests go wrong as listed, and a storage on it with one repository. */
async function setUp() {
  const clock = handClock();
  const faults: { op: StoreOp; fault: MemoryFault; land?: () => void }[] = [];
  let always: ((op: StoreOp) => MemoryFault | undefined) | undefined;
  const store = new MemoryObjectStore({
    intercept: (op) => {
      const next = faults[0];
      if (next?.op !== op) return always?.(op);
      faults.shift();
      next.land?.();
      return next.fault;
    },
  });
  const storage = provenStorage(store, {}, { clock });
  const base = await storage.create("a", { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);
  store.requests.splice(0);
  return { clock, faults, store, storage, base, setAlways: (fn: typeof always) => (always = fn) };
}
const newest = async (storage: ProbedRepositoryStorage) => (await storage.newest("a", neverAborted)) as Generation;
const creates = (store: MemoryObjectStore) => store.requests.filter(({ op }) => op === "create").map(({ key }) => key);

// B145
test("a create that was applied but not answered is found by reading the slot and reported once", async () => {
  const { faults, store, storage, base } = await setUp();
  faults.push({ op: "create", fault: "lostReply" });
  const { results, generation } = await push(storage, base, ["main 0 1"]);
  expect(results).toMatchObject([{ status: "ok" }]);
  expect(generation.n).toBe(2);
  expect(store.requests.map(({ op }) => op)).toEqual(["create", "get"]);
  expect(await newest(storage)).toEqual(generation);
});

test("a create that was not applied is sent again, byte for byte, to the same slot", async () => {
  const { faults, store, storage, base } = await setUp();
  faults.push({ op: "create", fault: "dropped" }, { op: "create", fault: "dropped" });
  expect((await push(storage, base, ["main 0 1"])).generation.n).toBe(2);
  expect(new Set(creates(store)).size).toBe(1);
  expect(creates(store)).toHaveLength(3);
});

test("a retry that meets its own late first attempt has won", async () => {
  const { faults, store, storage, base } = await setUp();
  faults.push({ op: "create", fault: "late" });
  faults.push({ op: "create", fault: "lostReply", land: () => store.landLate() });
  const { results, generation } = await push(storage, base, ["main 0 1"]);
  expect(results).toMatchObject([{ status: "ok" }]);
  expect(await newest(storage)).toEqual(generation);
});

test("an unknown create that another writer won is a lost race, merged on the winner", async () => {
  const { faults, store, storage, base } = await setUp();
  await using rival = provenStorage(new MemoryObjectStore({}, store.objects));
  await push(rival, base, ["other 0 2"]);
  faults.push({ op: "create", fault: "lostReply" });
  const { results, generation } = await push(storage, base, ["main 0 1"]);
  expect(results).toMatchObject([{ status: "ok" }]);
  expect(generation.n).toBe(3);
  expect(await refsOf(storage, generation)).toEqual(["main 1", "other 2"]);
});

test("reads of an unresolved slot are repeated while they fail", async () => {
  const { faults, storage, base } = await setUp();
  faults.push({ op: "create", fault: "lostReply" }, { op: "get", fault: "dropped" }, { op: "get", fault: "dropped" });
  expect((await push(storage, base, ["main 0 1"])).results).toMatchObject([{ status: "ok" }]);
});

test("when time is up a record without changes takes the slot, so that the refusal is final even if the push lands late", async () => {
  const { clock, store, storage, base, setAlways } = await setUp();
  let count = 0;
  setAlways((op) => {
    if (op !== "create" || count > 5) return undefined;
    if (++count === 5) clock.fire();
    return "late";
  });
  await expect(push(storage, base, ["main 0 1"])).rejects.toMatchObject({ code: "store_unavailable" });
  store.landLate();
  const after = await newest(storage);
  expect(after).toMatchObject({ n: 2, packs: [] });
  expect(await refsOf(storage, after)).toEqual([]);
  expect((await push(storage, after, ["main 0 1"])).results).toMatchObject([{ status: "ok" }]);
});

test("when time is up and the push turns out to be there, it is ok", async () => {
  const { clock, store, storage, base, setAlways } = await setUp();
  let count = 0;
  setAlways((op) => {
    if (op !== "create") return undefined;
    if (++count === 3) clock.fire();
    if (count === 4) store.landLate();
    return count < 4 ? "late" : undefined;
  });
  expect((await push(storage, base, ["main 0 1"])).results).toMatchObject([{ status: "ok" }]);
  expect(await refsOf(storage, await newest(storage))).toEqual(["main 1"]);
});

test("when nothing can be found out, every push of the group is told that its outcome is unknown", async () => {
  const { clock, store, storage, base, setAlways } = await setUp();
  let silent = 0;
  setAlways(() => {
    if (++silent % 10 === 0) clock.fire();
    return "late";
  });
  const results = await Promise.all([push(storage, base, ["main 0 1"]), push(storage, base, ["dev 0 2"])]);
  for (const { results: verdicts } of results) {
    expect(verdicts).toMatchObject([{ status: "unknown", reason: expect.stringContaining("outcome unknown") }]);
  }
  setAlways(undefined);
  store.landLate();
  expect(await refsOf(storage, await newest(storage))).toEqual(["dev 2", "main 1"]);
});

test("a push given up before its group was formed is not written; one given up later is unknown", async () => {
  let release = () => {};
  const store = new MemoryObjectStore({
    intercept: async (op, key) => {
      if (op === "create" && key.endsWith("d")) await new Promise<void>((resolve) => (release = resolve));
      return undefined;
    },
  });
  await using storage = provenStorage(store);
  const base = await storage.create("a", { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);
  const [writing, waiting] = [new AbortController(), new AbortController()];
  const first = push(storage, base, ["one 0 1"], { signal: writing.signal });
  await new Promise((resolve) => setImmediate(resolve));
  const second = push(storage, base, ["two 0 1"], { signal: waiting.signal });
  await new Promise((resolve) => setImmediate(resolve));
  writing.abort(new Error("left"));
  waiting.abort(new Error("left"));
  expect((await first).results).toMatchObject([{ status: "unknown" }]);
  await expect(second).rejects.toThrow("left");
  release();
  await storage[Symbol.asyncDispose]();
  await using later = provenStorage(new MemoryObjectStore({}, store.objects));
  expect(await refsOf(later, await newest(later))).toEqual(["one 1"]);
});

test("a create or removal whose outcome stays unknown says so", async () => {
  const { clock, storage, setAlways } = await setUp();
  let silent = 0;
  setAlways((op) => {
    if (op === "create" && ++silent % 5 === 0) clock.fire();
    return op === "create" ? "dropped" : undefined;
  });
  await expect(storage.remove("a", neverAborted)).rejects.toMatchObject({ code: "outcome_unknown" });
  await expect(storage.create("b", { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted)).rejects.toMatchObject({
    code: "outcome_unknown",
  });
});
