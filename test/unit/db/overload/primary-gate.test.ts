import { expect, test } from "vitest";
import { neverAborted } from "../../../../src/base/index.ts";
import { defaultOverloadOptions, type OverloadOptions } from "../../../../src/db/overload/overload-options.ts";
import type { Permit } from "../../../../src/db/overload/permit.ts";
import { PrimaryGate, type ReadKind } from "../../../../src/db/overload/primary-gate.ts";
import { PrimaryShedError } from "../../../../src/db/overload/primary-shed-error.ts";
import { createMetrics } from "../../../../src/observability/index.ts";
import { SimClock } from "../../../support/sim-clock.ts";
import { simRandom } from "../../../support/sim-random.ts";

/** A gate of a pool of ten: eight connections for reads, two of them for those that fall back. */
function scene(given: Partial<OverloadOptions> = {}) {
  const clock = new SimClock();
  const metrics = createMetrics();
  const shed = metrics.counter("dblb_shed_total", "x", ["reason"]);
  const strained = { now: false };
  const options = { ...defaultOverloadOptions, ...given, poolSize: 10, connectTimeoutMs: 2000 };
  const gate = new PrimaryGate(options, { clock, random: simRandom(1), metrics, shed, strained: () => strained.now });
  const outcomes: string[] = [];
  const permits: Permit[] = [];
  const enter = (kind: ReadKind, signal = neverAborted) =>
    gate.enter(kind, signal).then(
      (permit) => {
        permits.push(permit);
        outcomes.push(kind);
      },
      (error) => void outcomes.push(error instanceof PrimaryShedError ? error.reason : String(error)),
    );
  return { clock, gate, metrics, strained, enter, outcomes, permits };
}

test("reads that fall back use their share of the connections, and those that wait get theirs in turn", async () => {
  const { clock, enter, outcomes, permits } = scene();
  for (let i = 0; i < 3; i++) void enter("fallback");
  await clock.advance(0);
  expect(outcomes).toEqual(["fallback", "fallback"]);
  await clock.advance(200);
  permits[0]?.[Symbol.dispose]();
  await clock.advance(0);
  expect(outcomes).toEqual(["fallback", "fallback", "fallback"]);
});

test("a read that waits longer than 250 ms is refused, with a time to come again, and nothing is left of it (case 50)", async () => {
  const { clock, gate, enter, permits } = scene();
  for (let i = 0; i < 2; i++) await enter("fallback");
  const refused = gate.enter("fallback", neverAborted).catch((error) => error);
  await clock.advance(249);
  const early = await Promise.race([refused, Promise.resolve("waits")]);
  expect(early).toBe("waits");
  await clock.advance(1);
  const error = await refused;
  expect(error).toBeInstanceOf(PrimaryShedError);
  expect(error).toMatchObject({ code: "database_unavailable", reason: "slots" });
  expect(error.retryAfterMs).toBeGreaterThanOrEqual(100);
  expect(error.retryAfterMs).toBeLessThanOrEqual(200);
  for (const permit of permits) permit[Symbol.dispose]();
  await clock.advance(1000);
  expect(clock.pending).toBe(0);
});

test("where the rate is used up, a waiting read goes through as soon as there is some again", async () => {
  const { clock, gate, enter, outcomes, permits } = scene({ fallbackBurst: 1 });
  await enter("fallback");
  permits[0]?.[Symbol.dispose]();
  void enter("fallback");
  await clock.advance(199);
  expect(outcomes).toHaveLength(1);
  await clock.advance(2);
  expect(outcomes).toEqual(["fallback", "fallback"]);
  permits[1]?.[Symbol.dispose]();
  const late = [0, 1].map(() => gate.enter("fallback", neverAborted).catch((error) => error.reason));
  await clock.advance(300);
  expect(await late[1]).toBe("rate");
  (await late[0])[Symbol.dispose]();
});

test("sticky reads have what is left but for the writers' share, and go first", async () => {
  const { clock, enter, outcomes, permits } = scene();
  for (let i = 0; i < 2; i++) await enter("fallback");
  for (let i = 0; i < 8; i++) void enter("sticky");
  void enter("fallback");
  await clock.advance(0);
  expect(outcomes.filter((kind) => kind === "sticky")).toHaveLength(6);
  permits[0]?.[Symbol.dispose]();
  permits[1]?.[Symbol.dispose]();
  await clock.advance(0);
  expect(outcomes.filter((kind) => kind === "sticky")).toHaveLength(8);
  expect(outcomes.filter((kind) => kind === "fallback")).toHaveLength(2);
  await clock.advance(250);
  expect(outcomes.at(-1)).toBe("slots");
});

test("the queue is bounded: who comes when it is full is refused at once", async () => {
  const { clock, enter, outcomes, metrics } = scene({ maxQueuedReads: 3 });
  for (let i = 0; i < 2; i++) await enter("fallback");
  for (let i = 0; i < 5; i++) void enter("fallback");
  await clock.advance(0);
  expect(outcomes.slice(2)).toEqual(["queue", "queue"]);
  const text = await metrics.expose();
  expect(text).toContain('dblb_shed_total{reason="queue"} 2');
  expect(text).toContain('dblb_primary_queue{kind="fallback"} 3');
  expect(text).toContain('dblb_primary_reads{kind="fallback"} 2');
});

test("who goes away while waiting gives its place up", async () => {
  const { clock, enter, outcomes, permits } = scene();
  for (let i = 0; i < 2; i++) await enter("fallback");
  const gone = new AbortController();
  void enter("fallback", gone.signal);
  void enter("fallback");
  gone.abort(new Error("gone"));
  permits[0]?.[Symbol.dispose]();
  await clock.advance(0);
  expect(outcomes).toEqual(["fallback", "fallback", "Error: gone", "fallback"]);
});

test("a permit that is retained is given back by its last user", async () => {
  const { clock, enter, outcomes, permits } = scene();
  for (let i = 0; i < 2; i++) await enter("fallback");
  permits[0]?.retain()[Symbol.dispose]();
  void enter("fallback");
  await clock.advance(0);
  expect(outcomes).toHaveLength(2);
  permits[0]?.[Symbol.dispose]();
  await clock.advance(0);
  expect(outcomes).toHaveLength(3);
});

test("while the primary has no connection free, less may fall back", async () => {
  const { clock, gate, strained } = scene({ fallbackBurst: 0 });
  const through = async () => {
    let count = 0;
    for (let i = 0; i < 40; i++) {
      gate.noteRead();
      const entered = gate.enter("fallback", neverAborted).then(
        (permit) => {
          count++;
          permit[Symbol.dispose]();
        },
        () => {},
      );
      await clock.advance(250);
      await entered;
    }
    return count;
  };
  expect(await through()).toBeGreaterThan(35);
  strained.now = true;
  expect(await through()).toBeLessThan(15);
});
