import { expect, test } from "vitest";
import { runScenario } from "./run-scenario.ts";

test("without faults nobody is even suspected", async () => {
  await runScenario({ scenario: "calm", seed: 1, nodes: 50, minutes: 2 });
});

test("nobody is declared dead while a quarter of all datagrams is lost", async () => {
  expect((await runScenario({ scenario: "loss", seed: 3, nodes: 8, minutes: 5 })).deaths).toBe(0);
});

test("a partition of 1000 s heals within the bound", async () => {
  await runScenario({ scenario: "long-partition", seed: 4, nodes: 6, minutes: 17 });
});

test.each([
  ["cuts", 5],
  ["pauses", 6],
  ["clocks", 7],
  ["crashes", 8],
  ["churn", 9],
] as const)("views converge and no rule breaks in the scenario %s", async (scenario, seed) => {
  await runScenario({ scenario, seed, nodes: 7, minutes: 5 });
});

test.each([
  [3, 10],
  [6, 11],
  [10, 12],
  [25, 13],
])("views of %i members converge and no rule breaks under faults of all kinds", async (nodes, seed) => {
  await runScenario({ scenario: "mixed", seed, nodes, minutes: 10 });
});

test("a seed replays exactly", async () => {
  const run = { scenario: "mixed", seed: 14, nodes: 5, minutes: 5 } as const;
  const { digest } = await runScenario(run);
  expect((await runScenario(run)).digest).toBe(digest);
  expect((await runScenario({ ...run, seed: 15 })).digest).not.toBe(digest);
});
