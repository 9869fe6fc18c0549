import { expect, test } from "vitest";
import { type Clock, neverAborted } from "../../../../src/base/index.ts";
import { patiently } from "../../../../src/db/hosts/patience.ts";
import { failureOf } from "../../../support/failure-of.ts";
import { SimClock } from "../../../support/sim-clock.ts";

const after = async <T>(clock: SimClock, ms: number, value: T): Promise<T> => {
  await clock.sleep(ms, neverAborted);
  return value;
};

test("what comes in time is returned, its failure too", async () => {
  const clock = new SimClock();
  expect(await clock.until(patiently(clock, 250, after(clock, 249, "answer"), neverAborted))).toBe("answer");
  await expect(patiently(clock, 250, Promise.reject(new Error("refused")), neverAborted)).rejects.toThrow("refused");
  expect(clock.pending).toBe(0);
});

test("what does not come is given up after the time, and may still end as it likes", async () => {
  const clock = new SimClock();
  const late = after(clock, 400, "late").then(() => Promise.reject(new Error("nobody hears this")));
  const waiting = failureOf(patiently(clock, 250, late, neverAborted));
  await clock.advance(249);
  await clock.advance(1);
  expect(await waiting).toMatchObject({ code: "deadline_exceeded" });
  await clock.advance(1000);
});

test("time in which the process gets nothing done hardly counts", async () => {
  const clock = new SimClock();
  let stallMs = 900;
  // One timer comes 900 ms late.
  const stalling: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    timer: (ms, fn) => clock.timer(ms, fn),
    sleep: (ms, signal) => {
      const late = ms + stallMs;
      stallMs = 0;
      return clock.sleep(late, signal);
    },
  };
  expect(await clock.until(patiently(stalling, 250, after(clock, 1000, "answer"), neverAborted))).toBe("answer");
});

test("an abort ends the wait at once", async () => {
  const clock = new SimClock();
  const controller = new AbortController();
  const waiting = patiently(clock, 250, new Promise(() => {}), controller.signal).catch((error: Error) => error.message);
  controller.abort(new Error("enough"));
  expect(await waiting).toBe("enough");
  await expect(patiently(clock, 250, new Promise(() => {}), controller.signal)).rejects.toThrow("enough");
  expect(clock.pending).toBe(0);
});
