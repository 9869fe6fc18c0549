import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { neverAborted, systemClock, systemRandom } from "../../src/base/index.ts";
import { noMetrics } from "../../src/observability/index.ts";
import { openObjectStore, probeStore } from "../../src/storage/index.ts";
import { objectStoreCompliance } from "../compliance/object-store.ts";
import { type RadosGateway, radosgwMissing, startRadosgw } from "../support/radosgw.ts";
import { provenStorage, push, refsOf } from "../support/scratch-storage.ts";

const deps = { clock: systemClock, random: systemRandom, metrics: noMetrics };
const missing = radosgwMissing();
const required = process.env["CI"] !== undefined && process.env["GITALY_TEST_PEERS"] === "1";
if (missing !== undefined) process.stdout.write(`storage-radosgw: ${required ? "failed" : "skipped"}: ${missing}\n`);

if (missing !== undefined && required) {
  test("the peer of this suite is installed", () => {
    expect(missing).toBeUndefined();
  });
}

describe.skipIf(missing !== undefined)("Ceph's S3 server", () => {
  let gateway: RadosGateway;
  beforeAll(async () => {
    gateway = await startRadosgw();
  }, 240_000);
  afterAll(async () => await gateway?.[Symbol.asyncDispose](), 60_000);

  objectStoreCompliance("a bucket of radosgw", async () => {
    const store = await openObjectStore(gateway.url, deps);
    // The first object makes the server create its pools, which takes seconds.
    await store.put("warm/up", Buffer.from("x"), neverAborted);
    return { store, [Symbol.asyncDispose]: () => Promise.resolve(store[Symbol.asyncDispose]()) };
  });

  test("is proven for writes", async () => {
    await using store = await openObjectStore(gateway.url, deps);
    expect(await probeStore({ store, ...deps }, { probeTimeoutMs: 60_000 }, neverAborted)).toEqual({ state: "proven", message: "" });
  });

  test("lets exactly one of 16 concurrent creates win, 50 times", async () => {
    await using store = await openObjectStore(gateway.url, deps);
    for (let round = 0; round < 50; round++) {
      const key = `interop-race/${round}`;
      const outcomes = await Promise.all(
        Array.from({ length: 16 }, (_, i) => store.createIfAbsent(key, Buffer.from(`${i}`), neverAborted)),
      );
      const winners = outcomes.flatMap(({ outcome }, i) => (outcome === "created" ? [`${i}`] : []));
      expect(winners.length).toBeLessThanOrEqual(1);
      const stored = Buffer.from((await store.get(key, 10, neverAborted)) ?? []).toString();
      // An answer may be lost, but a winner's bytes stand.
      if (winners.length === 1) expect(stored).toBe(winners[0]);
      else expect(stored).toMatch(/^\d+$/);
    }
  });

  test("keeps every acknowledged push of eight nodes that race, and one winner per contested ref", async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => openObjectStore(gateway.url, deps)));
    const nodes = stores.map((store, i) => provenStorage(store, { writer: `node-${i}` }));
    const [first] = nodes as [(typeof nodes)[0]];
    const base = await first.create("race.git", { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);
    const own = await Promise.all(nodes.flatMap((node, i) => [0, 1, 2].map((j) => push(node, base, [`own-${i}-${j} 0 1`]))));
    expect(own.flatMap(({ results }) => results.map(({ status }) => status))).toEqual(Array.from({ length: 24 }, () => "ok"));
    const contested = await Promise.all(nodes.map((node, i) => push(node, base, [`main 0 ${i + 1}`])));
    const winners = contested.flatMap(({ results }, i) => (results[0]?.status === "ok" ? [`main ${i + 1}`] : []));
    expect(winners).toHaveLength(1);
    const newest = await first.newest("race.git", neverAborted);
    const refs = newest === undefined ? [] : await refsOf(first, newest);
    expect(refs).toHaveLength(25);
    expect(refs).toContain(winners[0]);
    for (const node of nodes) await node[Symbol.asyncDispose]();
    for (const store of stores) await store[Symbol.asyncDispose]();
  });
});
