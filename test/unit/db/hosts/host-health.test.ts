import { expect, test } from "vitest";
import {
  defaultHealthOptions,
  failed,
  type HostHealth,
  passed,
  takenOut,
  undecided,
  untried,
  weightOf,
} from "../../../../src/db/hosts/host-health.ts";

const options = defaultHealthOptions;
const pass = (health: HostHealth, nowMs = 0) => passed(health, nowMs, options);
const fail = (health: HostHealth) => failed(health, "slow", options);

test("the first check decides, and a server that was never away has its full share", () => {
  const up = pass(untried);
  expect(up).toMatchObject({ up: true, reason: "" });
  expect(weightOf(up, 0, options)).toBe(1);
  expect(fail(untried)).toMatchObject({ up: false, reason: "slow" });
});

test("one failed check in between does not take a server out, two in a row do", () => {
  const up = pass(untried);
  expect(pass(fail(up))).toMatchObject({ up: true, fails: 0 });
  expect(fail(fail(up))).toMatchObject({ up: false, reason: "slow" });
});

test("one good check in between does not bring a server back, two in a row do", () => {
  const out = fail(fail(pass(untried)));
  expect(fail(pass(out)).up).toBe(false);
  expect(pass(pass(out)).up).toBe(true);
});

test("a server that a request could not use is out at once", () => {
  expect(takenOut(pass(untried), "lost")).toMatchObject({ up: false, reason: "lost" });
});

test("a server that comes back gets a tenth of its share, then more, and all after 30 seconds", () => {
  const back = pass(pass(takenOut(pass(untried), "lost")), 1000);
  expect([1000, 4000, 16_000, 31_000, 99_000].map((nowMs) => weightOf(back, nowMs, options))).toEqual([0.1, 0.1, 0.5, 1, 1]);
});

test("a server is looked at again soon only while one more check decides", () => {
  const up = pass(untried);
  const out = fail(fail(up));
  expect([untried, up, fail(up), out, pass(out)].map(undecided)).toEqual([true, false, true, false, true]);
});
