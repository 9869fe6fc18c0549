import { neverAborted, systemClock, systemRandom } from "../../src/base/index.ts";
import { noMetrics } from "../../src/observability/index.ts";
import { openObjectStore } from "../../src/storage/index.ts";
import { slotKey, slotOfKey } from "../../src/storage/keys.ts";

// Fills slot after slot in the directory given as the first argument, until it is killed; prints each slot once it is acknowledged.
const store = await openObjectStore(`file://${process.argv[2]}`, { clock: systemClock, random: systemRandom, metrics: noMetrics });
for (;;) {
  const newest = (await store.list({ prefix: "repos/p.a/g/", maxKeys: 1 }, neverAborted)).objects[0]?.key;
  const n = (newest === undefined ? 0 : (slotOfKey("p.a", newest) ?? 0)) + 1;
  const body = Buffer.from(`${process.pid} ${n} ${"x".repeat(5000)}`);
  const { outcome } = await store.createIfAbsent(slotKey("p.a", n), body, neverAborted);
  if (outcome === "created") process.stdout.write(`${n}\n`);
}
