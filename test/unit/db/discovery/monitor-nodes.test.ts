import { expect, test } from "vitest";
import { isSettledChange, type MonitorNode, serversOfNodes } from "../../../../src/db/discovery/monitor-nodes.ts";

const node = (reportedState: string, goalState = reportedState, health = 1): MonitorNode => ({
  name: "node1",
  host: "127.0.0.1",
  port: 6601,
  goalState,
  reportedState,
  health,
});
const role = (one: MonitorNode) => serversOfNodes([one]).map((server) => server.role ?? "unknown")[0] ?? "absent";

test.each([
  [node("primary"), "primary"],
  [node("wait_primary"), "primary"],
  [node("single"), "primary"],
  [node("primary", "primary", 0), "unknown"],
  [node("primary", "primary", -1), "unknown"],
  [node("secondary"), "replica"],
  [node("secondary", "secondary", 0), "replica"],
  [node("catchingup"), "replica"],
  [node("primary", "draining"), "unknown"],
  [node("secondary", "prepare_promotion"), "unknown"],
  [node("stop_replication", "wait_primary"), "unknown"],
  [node("report_lsn"), "unknown"],
  [node("a state of a later version"), "unknown"],
  [node("demoted"), "absent"],
  [node("demoted", "catchingup"), "unknown"],
  [node("maintenance"), "absent"],
  [node("wait_standby"), "absent"],
] as const)("a node is believed only where it is what it should be, and healthy where it is to write: %j is %s", (one, expected) => {
  expect(role(one)).toBe(expected);
});

const payload = (change: Record<string, unknown> = {}) =>
  JSON.stringify({
    type: "state",
    formation: "default",
    groupId: 0,
    nodeId: 1,
    name: "node1",
    host: "127.0.0.1",
    port: 6601,
    reportedState: "primary",
    goalState: "primary",
    health: "good",
    ...change,
  });
const group = { formation: "default", groupId: 0 };

test("a notification in transition is ignored, so are those of others and what is no notification (case 52)", () => {
  expect(isSettledChange(payload(), group)).toBe(true);
  expect(isSettledChange(payload({ health: "bad" }), group)).toBe(true);
  expect(isSettledChange(payload({ goalState: "draining" }), group)).toBe(false);
  expect(isSettledChange(payload({ formation: "other" }), group)).toBe(false);
  expect(isSettledChange(payload({ groupId: 1 }), group)).toBe(false);
  expect(isSettledChange(payload({ type: "log" }), group)).toBe(false);
  for (const text of [
    "",
    "{",
    "null",
    "7",
    "[]",
    '{"type":"state"}',
    `"${"x".repeat(9000)}"`,
    payload({ goalState: 1, reportedState: 1 }),
  ]) {
    expect(isSettledChange(text, group)).toBe(false);
  }
});
