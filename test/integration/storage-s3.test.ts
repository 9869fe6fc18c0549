import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { neverAborted, systemClock, systemRandom } from "../../src/base/index.ts";
import { createMetrics, noMetrics } from "../../src/observability/index.ts";
import { type ManagedStoreOptions, openObjectStore, probeStore, redactStoreUrl } from "../../src/storage/index.ts";
import { MemoryObjectStore } from "../support/memory-object-store.ts";
import { type S3Fault, startS3Front } from "../support/s3-front.ts";
import { localPack, provenStorage, push, refsOf } from "../support/scratch-storage.ts";
import { tempDir } from "../support/temp-dir.ts";

const deps = { clock: systemClock, random: systemRandom, metrics: noMetrics };
const text = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : Buffer.from(bytes).toString());

/** A bucket whose next requests of a method go wrong as listed. */
async function setUp(options: Partial<ManagedStoreOptions> & { refuseChecksums?: boolean } = {}) {
  const faults: [string, S3Fault][] = [];
  const memory = new MemoryObjectStore();
  let always: S3Fault | undefined;
  const front = await startS3Front({
    store: memory,
    refuseChecksums: options.refuseChecksums ?? false,
    fault: (method) => (faults[0]?.[0] === method ? faults.shift()?.[1] : always),
  });
  const store = await openObjectStore(front.url, deps, { retryDelayMs: 1, ...options });
  return {
    faults,
    memory,
    front,
    store,
    setAlways: (fault: S3Fault | undefined) => (always = fault),
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      await front[Symbol.asyncDispose]();
    },
  };
}

// B145, B147
test.each([
  ["lostReply", "unknown", "mine"],
  ["error500AfterCommit", "unknown", "mine"],
  ["error500", "unknown", undefined],
  ["error503", "unknown", undefined],
  ["error409", "unknown", undefined],
  ["reset", "unknown", undefined],
  ["error403", "unknown", undefined],
  ["error400", "unknown", undefined],
] as const)("a create that meets %s is %s and is not retried by the client", async (fault, outcome, stored) => {
  await using s3 = await setUp();
  s3.faults.push(["PUT", fault]);
  expect(await s3.store.createIfAbsent("a/b", Buffer.from("mine"), neverAborted)).toMatchObject({ outcome, refused: fault === "error403" });
  expect(text(await s3.store.get("a/b", 10, neverAborted))).toBe(stored);
});

// B147
test("304 and 412 both mean that the key is occupied", async () => {
  await using s3 = await setUp();
  await s3.store.put("a", Buffer.from("x"), neverAborted);
  s3.faults.push(["PUT", "say304"]);
  expect(await s3.store.createIfAbsent("a", Buffer.from("y"), neverAborted)).toEqual({ outcome: "occupied" });
  expect(await s3.store.createIfAbsent("a", Buffer.from("y"), neverAborted)).toEqual({ outcome: "occupied" });
});

test("a create that gets no answer is unknown after its deadline, and a read is unavailable", async () => {
  await using s3 = await setUp({ requestTimeoutMs: 50, maxAttempts: 1 });
  s3.faults.push(["PUT", "hang"], ["GET", "hang"]);
  expect(await s3.store.createIfAbsent("a", Buffer.from("x"), neverAborted)).toMatchObject({ outcome: "unknown" });
  await expect(s3.store.get("a", 10, neverAborted)).rejects.toMatchObject({ code: "store_unavailable" });
});

test("only the store's own NoSuchKey means absent", async () => {
  await using s3 = await setUp({ maxAttempts: 1 });
  expect(await s3.store.get("a", 10, neverAborted)).toBeUndefined();
  for (const fault of ["html404", "noBucket", "error403", "error500"] as const) {
    s3.faults.push(["GET", fault]);
    await expect(s3.store.get("a", 10, neverAborted)).rejects.toMatchObject({ code: "store_unavailable" });
  }
});

test("reads, lists, writes and removals are repeated where that can help, and not where the store refuses", async () => {
  await using s3 = await setUp();
  s3.faults.push(
    ["PUT", "error503"],
    ["PUT", "lostReply"],
    ["PUT", "error400"],
    ["GET", "error500"],
    ["GET", "reset"],
    ["GET", "shortBody"],
  );
  await s3.store.put("a", Buffer.from("0123456789"), neverAborted);
  expect(text(await s3.store.get("a", 10, neverAborted))).toBe("0123456789");
  s3.faults.push(["GET", "error503"], ["GET", "emptyPage"], ["DELETE", "error503"]);
  expect((await s3.store.list({ prefix: "" }, neverAborted)).objects).toHaveLength(1);
  await s3.store.delete("a", neverAborted);
  s3.setAlways("error403");
  const before = s3.memory.requests.length;
  await expect(s3.store.get("a", 10, neverAborted)).rejects.toMatchObject({ fields: { answer: "403 AccessDenied", transient: false } });
  expect(s3.memory.requests).toHaveLength(before);
});

// B138
test("a store that answers 501 to checksum headers and trailers is proven, and takes files", async () => {
  await using s3 = await setUp({ refuseChecksums: true });
  await using dir = await tempDir();
  const { packFile } = await localPack(dir.path, "one");
  await s3.store.put("file", { file: packFile, sizeBytes: 8 }, neverAborted);
  expect(text(await s3.store.get("file", 8, neverAborted))).toBe("pack one");
  const health = await probeStore({ store: s3.store, ...deps }, { probeTimeoutMs: 10_000 }, neverAborted);
  expect(health).toEqual({ state: "proven", message: "" });
});

// B146
test("a bucket that ignores If-None-Match fails the probe for writes, with the reason", async () => {
  await using s3 = await setUp();
  s3.setAlways("ignoreCondition");
  const health = await probeStore({ store: s3.store, ...deps }, { probeTimeoutMs: 10_000 }, neverAborted);
  expect(health).toMatchObject({ state: "read_only", message: expect.stringContaining("If-None-Match") });
});

test("an unreachable bucket, and one with wrong credentials, is unproven or read-only, never an exception", async () => {
  const nowhere = await openObjectStore("s3://bucket?endpoint=http://127.0.0.1:9", deps, { maxAttempts: 1 });
  const withoutCredentials = await probeStore({ store: nowhere, ...deps }, { probeTimeoutMs: 5000 }, neverAborted);
  expect(withoutCredentials.state).toBe("unproven");
  await nowhere[Symbol.asyncDispose]();
  await using s3 = await setUp();
  s3.setAlways("error403");
  const refused = await probeStore({ store: s3.store, ...deps }, { probeTimeoutMs: 5000 }, neverAborted);
  expect(refused).toMatchObject({ state: "read_only", message: expect.stringContaining("403 AccessDenied") });
});

// B141
test("a body that ends early is fetched again, and never installed", async () => {
  await using s3 = await setUp();
  await using dir = await tempDir();
  await using storage = provenStorage(s3.store);
  const base = await storage.create("a", { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);
  const { generation } = await push(storage, base, ["main 0 1"], { packs: [await localPack(dir.path, "one")] });
  const artifact = generation.packs[0]?.pack as NonNullable<(typeof generation.packs)[0]>["pack"];
  s3.faults.push(["GET", "shortBody"], ["GET", "shortBody"]);
  await storage.fetchArtifact(generation, artifact, join(dir.path, "got"), neverAborted);
  s3.setAlways("shortBody");
  await expect(storage.fetchArtifact(generation, artifact, join(dir.path, "bad"), neverAborted)).rejects.toMatchObject({
    code: expect.stringMatching(/^(corrupt|store_unavailable)$/),
  });
  expect(await readdir(dir.path)).not.toContain("bad");
});

// B142
test("downloads that are given up before their body is read hold no connection", async () => {
  await using s3 = await setUp({ maxConcurrency: 8 });
  await s3.store.put("big", Buffer.alloc(4_000_000), neverAborted);
  for (let i = 0; i < 60; i++) {
    const giveUp = new AbortController();
    const stream = await s3.store.open("big", giveUp.signal);
    if (i % 2 === 0) giveUp.abort(new Error("gone"));
    await stream?.[Symbol.asyncDispose]();
  }
  expect((await s3.store.get("big", 4_000_000, neverAborted))?.length).toBe(4_000_000);
  expect(s3.front.connections()).toBeLessThanOrEqual(10);
});

test("pushes through a flaky bucket land exactly once", async () => {
  await using s3 = await setUp();
  await using storage = provenStorage(s3.store);
  let generation = await storage.create("a", { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);
  for (const fault of ["lostReply", "error500AfterCommit", "error500", "error409", "reset", "error503"] as const) {
    s3.faults.push(["PUT", fault]);
    const pushed = await push(storage, generation, [`${fault} 0 1`]);
    expect(pushed.results).toMatchObject([{ status: "ok" }]);
    expect(pushed.generation.n).toBe(generation.n + 1);
    generation = pushed.generation;
  }
  expect(await refsOf(storage, generation)).toHaveLength(6);
});

test("no error, url or description shows credentials", async () => {
  await using s3 = await setUp({ maxAttempts: 1 });
  const shown: unknown[] = [redactStoreUrl(s3.front.url), s3.store.description];
  for (const fault of ["error403", "error500", "reset"] as const) {
    s3.faults.push(["GET", fault]);
    await s3.store.get("a", 1, neverAborted).catch((error: Error & { fields?: unknown }) => {
      shown.push(error.message, error.fields, String(error.cause), error.stack);
    });
  }
  expect(shown.length).toBeGreaterThan(10);
  expect(JSON.stringify(shown)).not.toMatch(/test-secret|test-key/);
});

test("urls that make no sense are refused by name, without their secrets", async () => {
  const bad = [
    "ftp://x",
    "nonsense",
    "s3://",
    "s3://UPPER_case!/x",
    "s3://bucket?what=1",
    "s3://bucket?endpoint=ftp://x",
    "s3://bucket?forcePathStyle=maybe",
    "s3://key@bucket",
    "s3://bucket/a b",
    "file://host/dir",
  ];
  for (const url of bad) {
    await expect(openObjectStore(url, deps)).rejects.toMatchObject({ code: "bad_config", fields: { key: "object_storage.url" } });
  }
  await expect(openObjectStore("ftp://user:hidden@x", deps)).rejects.toSatisfy((error) => !JSON.stringify(error).includes("hidden"));
});

test("requests are counted by operation and outcome", async () => {
  const metrics = createMetrics();
  await using dir = await tempDir();
  await using store = await openObjectStore(`file://${dir.path}`, { ...deps, metrics });
  await store.createIfAbsent("a", Buffer.from("x"), neverAborted);
  await store.createIfAbsent("a", Buffer.from("x"), neverAborted);
  await store.get("b", 1, neverAborted);
  const page = await metrics.expose();
  for (const labels of ['op="create",outcome="created"', 'op="create",outcome="occupied"', 'op="get",outcome="absent"']) {
    expect(page).toContain(`gitaly_storage_requests_total{${labels}} 1`);
  }
});
