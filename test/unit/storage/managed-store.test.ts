import { expect, test } from "vitest";
import { CodedError, neverAborted, systemClock } from "../../../src/base/index.ts";
import { noMetrics } from "../../../src/observability/index.ts";
import type { ObjectStore } from "../../../src/storage/index.ts";
import { defaultManagedStoreOptions, ManagedStore, type ManagedStoreOptions } from "../../../src/storage/managed-store.ts";
import { MemoryObjectStore } from "../../support/memory-object-store.ts";
import { simRandom } from "../../support/sim-random.ts";

const never = new Promise<never>(() => {});

/** A managed store whose timers fire at once where `expire` says so, and whose pauses take no time. */
function setUp(driver: ObjectStore, options: Partial<ManagedStoreOptions> = {}) {
  const pauses: number[] = [];
  const timers: { readonly ms: number; readonly fire: () => void }[] = [];
  const clock = {
    ...systemClock,
    sleep: async (ms: number) => void pauses.push(ms),
    timer: (ms: number, fire: () => void) => {
      const timer = { ms, fire };
      timers.push(timer);
      return { [Symbol.dispose]: () => void timers.splice(timers.indexOf(timer), 1) };
    },
  };
  const store = new ManagedStore(
    driver,
    { ...defaultManagedStoreOptions, ...options },
    { clock, random: simRandom(1), metrics: noMetrics },
  );
  return { store, pauses, timers, expire: () => timers.shift()?.fire() };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

test("what may pass is tried again with growing, jittered pauses, and what the store refuses is not", async () => {
  let calls = 0;
  const driver = new MemoryObjectStore({ intercept: () => (++calls < 4 ? "dropped" : undefined) });
  const { store, pauses } = setUp(driver);
  await store.put("a", Buffer.from("x"), neverAborted);
  expect(calls).toBe(4);
  pauses.forEach((ms, i) => {
    expect(ms).toBeGreaterThanOrEqual(50 * 2 ** i);
    expect(ms).toBeLessThan(150 * 2 ** i);
  });
  driver.get = async () => {
    calls++;
    throw new CodedError("store_unavailable", "no", { transient: false });
  };
  await expect(store.get("a", 1, neverAborted)).rejects.toMatchObject({ code: "store_unavailable" });
  expect(calls).toBe(5);
});

test("a create-only write is sent once, and is unknown when its deadline passes", async () => {
  const driver = new MemoryObjectStore({ intercept: async () => await never });
  const { store, expire } = setUp(driver);
  const creating = store.createIfAbsent("a", Buffer.from("x"), neverAborted);
  await settle();
  expire();
  expect(await creating).toEqual({ outcome: "unknown", detail: "no answer in time", refused: false });
  expect(driver.requests).toHaveLength(1);
});

test("a create-only write that was certainly not made is an error", async () => {
  const driver = new MemoryObjectStore();
  driver.createIfAbsent = async () => {
    throw new CodedError("limit_exceeded", "full");
  };
  await expect(setUp(driver).store.createIfAbsent("a", Buffer.from("x"), neverAborted)).rejects.toMatchObject({ code: "limit_exceeded" });
});

test("a read that gets no answer is unavailable after its attempts, and the caller's own abort wins", async () => {
  const driver = new MemoryObjectStore({ intercept: async () => await never });
  const { store, expire } = setUp(driver, { maxAttempts: 2 });
  const reading = store.get("a", 1, neverAborted);
  const outcome = expect(reading).rejects.toMatchObject({ code: "store_unavailable" });
  for (let attempt = 0; attempt < 2; attempt++) {
    await settle();
    expire();
  }
  await outcome;
  const caller = new AbortController();
  const given = store.get("a", 1, caller.signal);
  caller.abort(new Error("gone"));
  await expect(given).rejects.toThrow("gone");
});

test("a larger upload gets more time", async () => {
  const driver = new MemoryObjectStore({ intercept: async () => await never });
  const { store, timers, expire } = setUp(driver, { requestTimeoutMs: 1000, minBytesPerSecond: 1000, maxAttempts: 1 });
  const uploading = store.put("a", new Uint8Array(5000), neverAborted);
  const outcome = expect(uploading).rejects.toMatchObject({ code: "store_unavailable" });
  await settle();
  expect(timers.map(({ ms }) => ms)).toEqual([6000]);
  expire();
  await outcome;
});

test("a body that stops coming ends the download", async () => {
  const driver = new MemoryObjectStore();
  driver.open = async () => ({
    sizeBytes: 10,
    body: (async function* () {
      yield Buffer.from("12345");
      await never;
    })(),
    [Symbol.asyncDispose]: async () => {},
  });
  const { store, expire } = setUp(driver);
  await using stream = await store.open("a", neverAborted);
  const chunks = stream?.body[Symbol.asyncIterator]();
  expect((await chunks?.next())?.value).toHaveLength(5);
  const next = chunks?.next();
  await settle();
  expire();
  await expect(next).rejects.toMatchObject({ code: "store_unavailable", fields: { transient: true } });
});

test("no more requests run at a time than allowed, and an open download counts as one until it is closed", async () => {
  const driver = new MemoryObjectStore();
  const { store } = setUp(driver, { maxConcurrency: 2 });
  await store.put("a", Buffer.from("x"), neverAborted);
  const first = await store.open("a", neverAborted);
  const second = await store.open("a", neverAborted);
  let third = false;
  const waiting = store.get("a", 1, neverAborted).then(() => (third = true));
  await settle();
  expect(third).toBe(false);
  await first?.[Symbol.asyncDispose]();
  await waiting;
  await second?.[Symbol.asyncDispose]();
});

test("the last failure is told until a request is answered again, and what a caller gave up or asked wrongly is none", async () => {
  let down = false;
  const driver = new MemoryObjectStore({ intercept: () => (down ? "dropped" : undefined) });
  const { store } = setUp(driver, { maxAttempts: 1 });
  expect(store.trouble).toBe("");
  await expect(store.get("no key/", 1, neverAborted)).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(store.get("a", 1, AbortSignal.abort(new Error("left")))).rejects.toThrow("left");
  expect(store.trouble).toBe("");
  down = true;
  const failure = await store.get("a", 1, neverAborted).catch((error: Error) => error);
  expect(failure).toMatchObject({ code: "store_unavailable" });
  expect(store.trouble).toBe((failure as Error).message);
  down = false;
  expect(await store.get("a", 1, neverAborted)).toBeUndefined();
  expect(store.trouble).toBe("");
});
