import fc from "fast-check";
import { expect, test } from "vitest";
import { AdaptiveShare } from "../../../../src/db/overload/adaptive-share.ts";
import { FallbackBudget } from "../../../../src/db/overload/fallback-budget.ts";
import { defaultOverloadOptions, readSlots } from "../../../../src/db/overload/overload-options.ts";
import { RateWindow } from "../../../../src/db/overload/rate-window.ts";

/** Asks for `perSecond` reads over `seconds`, all of which fall back; how many may. */
function admitted(budget: FallbackBudget, perSecond: number, seconds: number, startMs = 0): number {
  let count = 0;
  for (let i = 0; i < perSecond * seconds; i++) {
    const nowMs = startMs + (i * 1000) / perSecond;
    budget.noteRead(nowMs);
    if (budget.take(nowMs)) count++;
  }
  return count;
}

test("a fifth of the reads may fall back, steadily", () => {
  const budget = new FallbackBudget(defaultOverloadOptions, 0);
  admitted(budget, 200, 60);
  for (let second = 60; second < 70; second++) {
    const count = admitted(budget, 200, 1, second * 1000);
    expect(count).toBeGreaterThanOrEqual(39);
    expect(count).toBeLessThanOrEqual(41);
  }
});

test("few reads are not held up by their small share", () => {
  expect(admitted(new FallbackBudget(defaultOverloadOptions, 0), 4, 60)).toBe(240);
});

test.each([
  ["a share of 1 lets everything through", { fallbackShare: 1 }, 1000, 10, 10_000],
  ["a ceiling per process holds", { fallbackMaxPerSecond: 10, fallbackBurst: 1 }, 200, 10, 100],
  ["nothing at all may fall back, where that is what is asked for", { fallbackMaxPerSecond: 0, fallbackBurst: 0 }, 200, 10, 0],
])("%s", (_, given, perSecond, seconds, wanted) => {
  const count = admitted(new FallbackBudget({ ...defaultOverloadOptions, ...given }, 0), perSecond, seconds);
  expect(Math.abs(count - wanted)).toBeLessThanOrEqual(1);
});

test("what many processes share is never more than what one alone would have, and follows their number", () => {
  const given = { ...defaultOverloadOptions, fallbackShare: 0, fallbackMinPerSecond: 40, fallbackBurst: 40 };
  for (const processes of [1, 2, 8, 40]) {
    const fleet = Array.from({ length: processes }, () => new FallbackBudget({ ...given, sharedBy: () => processes }, 0));
    const total = fleet.reduce((sum, budget) => sum + admitted(budget, 100, 20), 0);
    // The burst, and 20 seconds of the rate; a read is not cut in parts.
    expect(Math.abs(total - (40 + 20 * 40))).toBeLessThanOrEqual(processes);
  }
  let processes = 4;
  const budget = new FallbackBudget({ ...given, fallbackMaxPerSecond: 80, fallbackShare: 1, sharedBy: () => processes }, 0);
  expect(budget.perSecond(0)).toBe(20);
  processes = 2;
  expect(budget.perSecond(0)).toBe(40);
  for (const odd of [0, -1, Number.NaN]) {
    processes = odd;
    expect(budget.perSecond(0)).toBe(80);
  }
});

test("how many share is asked for once with each use", () => {
  let asked = 0;
  const budget = new FallbackBudget({ ...defaultOverloadOptions, sharedBy: () => ++asked }, 0);
  const uses = [() => budget.take(0), () => budget.waitMs(0, 1000), () => budget.perSecond(0)];
  const counts = uses.map((use) => {
    asked = 0;
    use();
    return asked;
  });
  expect(counts).toEqual([1, 1, 1]);
});

test("a share of the reads is each process's own: shares of all reads add up by themselves", () => {
  const budget = new FallbackBudget({ ...defaultOverloadOptions, sharedBy: () => 10 }, 0);
  admitted(budget, 200, 60);
  const count = admitted(budget, 200, 10, 60_000);
  expect(Math.abs(count - 400)).toBeLessThanOrEqual(10);
});

test("whatever comes when, never more than the burst and the greatest rate allow", () => {
  const arrivals = fc.array(fc.nat(400), { minLength: 1, maxLength: 300 });
  fc.assert(
    fc.property(arrivals, fc.double({ min: 0.01, max: 0.99, noNaN: true }), fc.nat(50), fc.nat(20), (gaps, share, burst, least) => {
      const options = { ...defaultOverloadOptions, fallbackShare: share, fallbackBurst: burst, fallbackMinPerSecond: least };
      const budget = new FallbackBudget(options, 0);
      let nowMs = 0;
      let count = 0;
      let greatest = 0;
      for (const gapMs of gaps) {
        nowMs += gapMs;
        budget.noteRead(nowMs);
        greatest = Math.max(greatest, budget.perSecond(nowMs));
        if (budget.take(nowMs)) count++;
      }
      expect(count).toBeLessThanOrEqual(Math.max(1, burst, greatest) + (greatest * nowMs) / 1000 + 1);
    }),
  );
});

test("the wait that is told is enough", () => {
  const budget = new FallbackBudget({ ...defaultOverloadOptions, fallbackBurst: 0 }, 0);
  const waitMs = budget.waitMs(0);
  expect(waitMs).toBe(200);
  expect(budget.take(0)).toBe(false);
  expect(budget.take(waitMs)).toBe(true);
  expect(budget.take(waitMs)).toBe(false);
});

test("a strained primary halves what may fall back each second, down to a tenth, and calm gives it back", () => {
  const share = new AdaptiveShare();
  const factors = Array.from({ length: 6 }, (_, second) => {
    share.note(true, second * 1000);
    return share.factor;
  });
  expect(factors).toEqual([1, 0.5, 0.25, 0.125, 0.1, 0.1]);
  share.note(false, 6000);
  share.note(false, 7000);
  expect(share.factor).toBeCloseTo(0.2);
  share.note(false, 60_000);
  expect(share.factor).toBe(1);
  const fixed = new FallbackBudget({ ...defaultOverloadOptions, adaptive: false }, 0);
  for (let ms = 0; ms < 10_000; ms += 100) fixed.notePrimary(true, ms);
  expect(fixed.perSecond(10_000)).toBe(5);
});

test("a rate is counted over ten seconds, and over as long as was watched before that", () => {
  const window = new RateWindow();
  for (let ms = 100_000; ms < 103_000; ms += 10) window.add(ms);
  expect(window.count(102_999)).toBe(300);
  expect(window.perSecond(102_999)).toBeCloseTo(100, 0);
  expect(window.count(109_000)).toBe(300);
  expect(window.count(111_500)).toBe(100);
  expect(window.count(500_000)).toBe(0);
});

test("connections are shared out so that each kind has one, and writes keep theirs", () => {
  const shared = (poolSize: number) => readSlots(poolSize, defaultOverloadOptions);
  expect([1, 2, 4, 10, 40].map(shared)).toEqual([
    { reads: 1, fallback: 1 },
    { reads: 1, fallback: 1 },
    { reads: 3, fallback: 1 },
    { reads: 8, fallback: 2 },
    { reads: 32, fallback: 10 },
  ]);
});
