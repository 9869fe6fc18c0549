import { expect, test } from "vitest";
import { defaultPaceOptions, waitAfterAnswerMs, waitAfterFailureMs } from "../../../../src/db/discovery/pace.ts";
import { simRandom } from "../../../support/sim-random.ts";

const waits = (wait: () => number) => Array.from({ length: 500 }, wait);
const random = simRandom(1);

test("the interval is the least wait; a longer TTL is honoured (case 46)", () => {
  const short = waits(() => waitAfterAnswerMs(5000, defaultPaceOptions, random));
  expect(Math.min(...short)).toBeGreaterThanOrEqual(60_000);
  expect(Math.max(...short)).toBeLessThan(70_000);
  expect(Math.max(...short) - Math.min(...short)).toBeGreaterThan(8000);
  const long = waits(() => waitAfterAnswerMs(90_000, defaultPaceOptions, random));
  expect(Math.min(...long)).toBeGreaterThanOrEqual(90_000);
  expect(waitAfterAnswerMs(3e15, defaultPaceOptions, random)).toBeLessThan(25 * 3_600_000);
  expect(Math.max(...waits(() => waitAfterAnswerMs(0, { ...defaultPaceOptions, intervalMs: 600 }, random)))).toBeLessThan(700);
});

test("after failures the wait is anywhere below a bound that doubles up to a minute", () => {
  for (const [failures, bound] of [
    [1, 500],
    [2, 1000],
    [5, 8000],
    [8, 60_000],
    [1e9, 60_000],
  ] as const) {
    const seen = waits(() => waitAfterFailureMs(failures, defaultPaceOptions, random));
    expect(Math.max(...seen)).toBeLessThan(bound);
    expect(Math.max(...seen)).toBeGreaterThan(bound * 0.9);
    expect(Math.min(...seen)).toBeLessThan(bound * 0.1);
  }
});
