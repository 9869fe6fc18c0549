import { expect, test } from "vitest";
import { runScenario } from "./scenarios.ts";

test.each([1, 2])("all views converge after joining (seed %i)", async (seed) => {
  await runScenario("calm", seed, 12);
});

test("nobody is declared dead while a quarter of all datagrams is lost", async () => {
  expect((await runScenario("loss", 3, 8)).deaths).toBe(0);
});

test("a partition heals within the bound", async () => {
  await runScenario("partition", 4, 8);
});

test.each([5, 6, 7, 8])("views converge after cuts, pauses, crashes, restarts and loss at random (seed %i)", async (seed) => {
  await runScenario("chaos", seed, 6);
});

test("a seed replays exactly", async () => {
  expect(await runScenario("chaos", 9, 5)).toEqual(await runScenario("chaos", 9, 5));
});
