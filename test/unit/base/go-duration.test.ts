import { expect, test } from "vitest";
import { parseGoDuration } from "../../../src/base/index.ts";

test.each([
  ["10s", 10_000],
  ["1m", 60_000],
  ["1h2m3.5s", 3_723_500],
  ["300ms", 300],
  ["1.5h", 5_400_000],
  [".5s", 500],
  ["2.s", 2000],
  ["1us", 0.001],
  ["1µs", 0.001],
  ["0", 0],
  ["+3s", 3000],
])("%s is %d ms", (text, ms) => {
  expect(parseGoDuration(text)).toBeCloseTo(ms, 6);
});

test.each(["", "10", "s", "-1s", "1 s", "1d", "1s2", "1..s", "1e3s", "0x1s", `${"1".repeat(200)}s`])("%j is no duration", (text) => {
  expect(parseGoDuration(text)).toBeUndefined();
});
