import { expect, test } from "vitest";
import { benchGit } from "./git.ts";
import { benchRing } from "./ring.ts";

// At a tiny size, so that benchmarks cannot rot; figures mean nothing here and none is asserted.
test.each([
  ["ring", () => benchRing({ routes: 100, rounds: 1 })],
  ["git", () => benchGit({ commits: 20, rounds: 1 })],
])("the benchmark %s runs and gives figures", async (_, bench) => {
  const figures = await bench();
  expect(figures).toHaveLength(3);
  for (const { ours, peer, ratio } of figures) expect(Math.min(ours, peer, ratio)).toBeGreaterThan(0);
});
