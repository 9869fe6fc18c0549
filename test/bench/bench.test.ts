import { expect, test } from "vitest";
import { benchDb } from "./db.ts";
import type { Figure } from "./figures.ts";
import { benchGit } from "./git.ts";
import { benchGossip } from "./gossip.ts";
import { startOurAgent } from "./gossip-fleet.ts";
import { soakGossip } from "./gossip-soak.ts";
import { benchStalls } from "./gossip-stall.ts";
import { benchRing } from "./ring.ts";

// At a tiny size, so that benchmarks cannot rot; figures mean nothing here and none is asserted.
test.each([
  ["ring", () => benchRing({ routes: 100, rounds: 1 })],
  ["git", () => benchGit({ commits: 20, rounds: 1 })],
])("the benchmark %s runs and gives figures", async (_, bench) => {
  const figures = await bench();
  expect(figures).toHaveLength(3);
  for (const { ours, peer, ratio } of figures) expect(Math.min(ours, peer, ratio ?? 0)).toBeGreaterThan(0);
});

// The peer is another process of ours: the Go one needs Go.
const deps = { peer: { name: "ours", start: startOurAgent }, progress: () => {} };

async function all(figures: AsyncIterable<Figure>): Promise<Figure[]> {
  const found: Figure[] = [];
  for await (const figure of figures) found.push(figure);
  return found;
}

test("the benchmark gossip runs and gives figures", async () => {
  const once = { clusters: 1, rounds: 1 };
  const loss = { size: 3, share: 0.01, restMs: 0, ...once };
  const figures = await all(
    benchGossip({ sizes: [3], warmUpMs: 0, restMs: 1100, updates: 1, leaves: 1, pauseMs: 0, crashes: once, loss }, deps),
  );
  expect(figures.filter(({ ours, peer }) => ours > 0 && peer > 0).map(({ unit }) => unit)).toEqual(
    expect.arrayContaining(["s", "ms", "packets/s", "% of a core"]),
  );
});

test("the benchmark db runs and gives figures", async () => {
  const sizes = { rounds: 1, pairs: 1, sampleMs: 20, warmUp: 20, concurrencies: [2], writeShares: [0, 0.5] };
  const options = { ...sizes, classify: { rounds: 1, texts: 5 }, failover: { losses: 1, concurrency: 2, ms: 50 } };
  const figures = await all(benchDb(options, () => {}));
  expect(figures.map(({ unit }) => unit)).toEqual([
    "us",
    "us",
    "us",
    ...Array.from({ length: 10 }, () => ["/s", "us"]).flat(),
    ...Array.from({ length: 6 }, () => "ms"),
  ]);
  for (const { ours, peer } of figures.slice(0, -6)) expect(Math.min(ours, peer)).toBeGreaterThan(0);
});

test("the benchmark gossip-stalls runs and gives figures", async () => {
  const figures = await all(benchStalls({ warmUpMs: 0, stalls: [{ stallMs: 10, periodMs: 100, times: 2 }] }, deps));
  expect(figures.map(({ ours, peer }) => [ours, peer])).toEqual([
    [0, 0],
    [0, 0],
    [0, 0],
  ]);
});

test("the soak runs and reports the growth of each process", async () => {
  const lines: string[] = [];
  await soakGossip({ nodes: 2, samples: 10, sampleMs: 100, write: (line) => lines.push(line) });
  expect(lines).toEqual([expect.stringMatching(/^growth since minute 0.0: -?\d.* MB/), "alive in each view: 2 2"]);
});
