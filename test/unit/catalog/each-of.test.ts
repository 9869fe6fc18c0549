import { expect, test } from "vitest";
import { CodedError, neverAborted } from "../../../src/base/index.ts";
import { eachOf } from "../../../src/catalog/reconcile/each-of.ts";
import { failureOf } from "../../support/failure-of.ts";

test("answers come in the order of the items, and no more run at a time than allowed", async () => {
  let running = 0;
  let most = 0;
  const answers = await eachOf([3, 1, 2, 0, 5, 4], 2, neverAborted, async (item) => {
    most = Math.max(most, ++running);
    for (let turn = 0; turn < item; turn++) await Promise.resolve();
    running--;
    return item * 10;
  });
  expect(answers).toEqual([30, 10, 20, 0, 50, 40]);
  expect(most).toBe(2);
});

test("after a failure no more are begun, and those that run are aborted and waited for", async () => {
  const begun: number[] = [];
  let ended = false;
  const failure = await failureOf(
    eachOf([0, 1, 2, 3], 2, neverAborted, async (item, signal) => {
      begun.push(item);
      if (item === 1) throw new CodedError("conflict", "one");
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      ended = true;
    }),
  );
  expect(failure).toMatchObject({ message: "one" });
  expect({ begun, ended }).toEqual({ begun: [0, 1], ended: true });
});
