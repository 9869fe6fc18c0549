import { expect, test } from "vitest";
import type { ReconcileMark } from "../../../src/catalog/reconcile/mark.ts";
import { isDue } from "../../../src/catalog/reconcile/reconciler.ts";

const whole: ReconcileMark = {
  ...{ clusterId: "c", held: false, unfinished: false, startedAgeMs: 5000, finishedAgeMs: 4000, empty: false },
};
const dueFor = (mark: Partial<ReconcileMark>, askedAgeMs = 6000) =>
  isDue({ ...whole, ...mark }, { intervalMs: 10_000, lookIntervalMs: 3000 }, askedAgeMs);

test("a catalog that was compared a short while ago is left alone", () => {
  expect(dueFor({})).toBe(false);
  expect(dueFor({ startedAgeMs: 10_500, finishedAgeMs: 9999 }, 11_000)).toBe(false);
});

test("it is compared again after the interval, where it never was or was not to its end, and where it has no rows", () => {
  expect(dueFor({ startedAgeMs: 10_500, finishedAgeMs: 10_000 }, 11_000)).toBe(true);
  expect(dueFor({ finishedAgeMs: undefined })).toBe(true);
  expect(dueFor({ unfinished: true })).toBe(true);
  expect(dueFor({ empty: true })).toBe(true);
  // A cluster without repositories is not looked at by each of its nodes at once.
  expect(dueFor({ empty: true, startedAgeMs: 2900, finishedAgeMs: 2800 })).toBe(false);
});

test("whoever asks is content with a comparison that began after that", () => {
  expect(dueFor({}, 5001)).toBe(false);
  expect(dueFor({}, 4999)).toBe(true);
});

test("while somebody is at it, nobody else begins", () => {
  expect(dueFor({ held: true, unfinished: true, finishedAgeMs: undefined, empty: true }, 0)).toBe(false);
});
