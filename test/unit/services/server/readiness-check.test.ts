import { expect, test } from "vitest";
import { readinessCheck } from "../../../../src/services/server/readiness-check.ts";
import { ServicesFixture } from "../../../support/services-fixture.ts";

test("a ready node whose checks all pass answers ok", async () => {
  const fixture = new ServicesFixture();
  fixture.nodeState = { state: "ready", checks: [{ name: "git", ok: true, message: "" }] };
  expect(await readinessCheck(fixture.deps)()).toEqual({ okResponse: {}, Result: "okResponse" });
});

test("the checks that fail are named, and so is a state other than ready", async () => {
  const fixture = new ServicesFixture();
  fixture.nodeState = {
    state: "draining",
    checks: [
      { name: "git", ok: true, message: "" },
      { name: "store", ok: false, message: "does not answer" },
    ],
  };
  expect(await readinessCheck(fixture.deps)()).toEqual({
    failureResponse: {
      failedChecks: [
        { name: "state", errorMessage: "the node is draining" },
        { name: "store", errorMessage: "does not answer" },
      ],
    },
    Result: "failureResponse",
  });
});
