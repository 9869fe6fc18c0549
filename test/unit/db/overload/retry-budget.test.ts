import { expect, test } from "vitest";
import { RetryBudget } from "../../../../src/db/overload/retry-budget.ts";
import { SimClock } from "../../../support/sim-clock.ts";

test("second tries are a tenth of the requests, beyond the few that are always allowed", async () => {
  const clock = new SimClock();
  const budget = new RetryBudget({ retryShare: 0.1, minRetries: 5 }, { clock });
  const spent = (tries: number) => Array.from({ length: tries }, () => budget.spend()).filter(Boolean).length;
  expect(spent(20)).toBe(5);
  for (let i = 0; i < 200; i++) budget.noteRequest();
  expect(spent(100)).toBe(20);
  await clock.advance(11_000);
  expect(spent(100)).toBe(5);
});
