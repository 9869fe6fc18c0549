import { expect, test } from "vitest";
import { LatencyWindow } from "../../../../src/db/hosts/latency-window.ts";
import { defaultOutlierOptions, findOutliers, type Sampled } from "../../../../src/db/hosts/outliers.ts";

const options = defaultOutlierOptions;
const sampled = (p99s: readonly (number | undefined)[], ejected: readonly number[] = []): Sampled[] =>
  p99s.map((p99Ms, i) => ({ name: `r${i}`, p99Ms, ejected: ejected.includes(i) }));

test.each<[title: string, servers: Sampled[], expected: string[]]>([
  ["a server five times slower than the others, and slow at all", sampled([10, 12, 500]), ["r2"]],
  ["slower, but fast enough", sampled([1, 1, 90]), []],
  ["slow, but so are the others", sampled([300, 320, 500]), []],
  ["of two, the slow one", sampled([10, 500]), ["r1"]],
  ["a lone server", sampled([500]), []],
  ["servers that have answered too little count neither way", sampled([undefined, undefined, 500]), []],
  ["never more than half", sampled([10, 600, 10, 700, 10]), ["r3", "r1"]],
  ["those that are out already count", sampled([10, 600, undefined, 10], [2]), ["r1"]],
  ["with half of them out, nobody else", sampled([10, 600, undefined, undefined], [2, 3]), []],
])("%s", (_title, servers, expected) => {
  expect(findOutliers(servers, options)).toEqual(expected);
});

test("a factor of 0 turns it off", () => {
  expect(findOutliers(sampled([10, 12, 500]), { ...options, outlierFactor: 0 })).toEqual([]);
});

test("a percentile is of the last 30 seconds, and needs enough answers; whether there was a quick one is known, too", () => {
  const window = new LatencyWindow();
  for (let i = 1; i <= 100; i++) window.add(i, 0);
  expect(window.p99(30_000, 50)).toBe(99);
  expect(window.p99(30_001, 50)).toBeUndefined();
  for (let i = 0; i < 49; i++) window.add(7, 40_000);
  expect(window.p99(40_000, 50)).toBeUndefined();
  expect(window.p99(40_000, 49)).toBe(7);
  for (let i = 0; i < 1000; i++) window.add(3, 50_000);
  expect(window.p99(50_000, 50)).toBe(3);
  expect(window.answeredSince(49_999, 3)).toBe(true);
  expect(window.answeredSince(50_000, 3)).toBe(false);
  expect(window.answeredSince(0, 2)).toBe(false);
  window.clear();
  expect(window.p99(50_000, 1)).toBeUndefined();
});

test("a server that lets most statements run into their time limit has a percentile although they are few", () => {
  const window = new LatencyWindow();
  for (let i = 0; i < 4; i++) window.add(30_000, 1000, { timedOut: true });
  expect(window.p99(1000, 50)).toBeUndefined();
  window.add(30_000, 1000, { timedOut: true });
  expect(window.p99(1000, 50)).toBe(30_000);
  expect(window.answeredSince(0, 60_000)).toBe(false);
  // Where as many are answered, it may be the statements' fault.
  for (let i = 0; i < 5; i++) window.add(1, 1000);
  expect(window.p99(1000, 50)).toBeUndefined();
  expect(window.answeredSince(0, 60_000)).toBe(true);
});

test("where all servers let them run into it, nobody is left out: it is the statements' fault", () => {
  expect(findOutliers(sampled([30_000, 30_000, 30_000]), options)).toEqual([]);
  expect(findOutliers(sampled([10, 12, 30_000]), options)).toHaveLength(1);
});
