import { expect, test } from "vitest";
import type { MemberRecord } from "../../src/gossip/index.ts";
import { bounds } from "./bounds.ts";
import type { MembershipEvent } from "./checkers/checker.ts";
import { ConvergenceChecker } from "./checkers/convergence-checker.ts";
import { FalseDeathChecker } from "./checkers/false-death-checker.ts";
import { IncarnationChecker } from "./checkers/incarnation-checker.ts";
import { LimitChecker } from "./checkers/limit-checker.ts";
import { judge } from "./heap-watch.ts";
import { runScenario } from "./run-scenario.ts";
import { SimCluster } from "./sim-cluster.ts";
import type { SimNode } from "./sim-node.ts";

const record = (name: string, more: Partial<MemberRecord> = {}): MemberRecord => ({
  name,
  host: `host-${name}`,
  port: 7946,
  meta: new Uint8Array(),
  state: "alive",
  incarnation: 1,
  ...more,
});

const nodeOf = (name: string, view: readonly MemberRecord[] = [], queued = 0): SimNode => ({
  name,
  host: `host-${name}`,
  // Only what checkers look at.
  member: { address: { host: `host-${name}`, port: 7946 }, members: () => view } as SimNode["member"],
  events: [],
  warnings: [],
  counters: new Map(),
  readGauge: () => queued,
  meta: new Uint8Array(),
  running: true,
  left: false,
  faults: 0,
  soundSinceMs: 0,
});

const failed = (member: MemberRecord): MembershipEvent => ({ type: "failed", member, from: "x", reason: "timeout" });
const joined = (member: MemberRecord, reason: "new" | "returned"): MembershipEvent => ({ type: "joined", member, from: "x", reason });

function falseDeaths(held = false) {
  const viewer = nodeOf("viewer");
  const target = nodeOf("target");
  const checker = new FalseDeathChecker({
    runningMember: (name) => (name === "target" ? target : undefined),
    soundSinceMs: () => (held ? undefined : 0),
  });
  return { checker, viewer, target };
}

test("a live member that is dead in a view for longer than the bound is found", () => {
  const { checker, viewer } = falseDeaths();
  checker.event(viewer, failed(record("target")), 1000);
  checker.everySecond(1000 + bounds.falseDeathMs);
  expect(() => checker.everySecond(1001 + bounds.falseDeathMs)).toThrow("target lives and can be reached, and is dead for viewer");
  expect(checker.count).toBe(1);
});

test("a false death is none while a fault holds the member, once it is back, once it has ended, and at another address", () => {
  const lateMs = 10 * bounds.falseDeathMs;
  const held = falseDeaths(true);
  held.checker.event(held.viewer, failed(record("target")), 1000);
  held.checker.everySecond(lateMs);
  const back = falseDeaths();
  back.checker.event(back.viewer, failed(record("target")), 1000);
  back.checker.event(back.viewer, joined(record("target"), "returned"), 2000);
  back.checker.everySecond(lateMs);
  const ended = falseDeaths();
  ended.checker.event(ended.viewer, failed(record("target")), 1000);
  ended.target.running = false;
  ended.checker.everySecond(lateMs);
  const moved = falseDeaths();
  moved.checker.event(moved.viewer, failed(record("target", { host: "old" })), 1000);
  moved.checker.everySecond(lateMs);
  expect([held, back, ended, moved].map(({ checker }) => checker.count)).toEqual([1, 1, 1, 0]);
});

test("an incarnation that goes back is found, unless the node was forgotten or moved after it had left", () => {
  const viewer = nodeOf("viewer");
  const seen = (...events: MembershipEvent[]) => {
    const checker = new IncarnationChecker();
    for (const event of events) checker.event(viewer, event, 0);
  };
  const at = (incarnation: number, more: Partial<MemberRecord> = {}) => record("target", { incarnation, ...more });
  expect(() => seen(failed(at(5)), joined(at(4), "returned"))).toThrow("from incarnation 5 back to 4");
  seen(failed(at(5)), joined(at(1), "new"));
  const left: MembershipEvent = { type: "left", member: at(5, { state: "left" }), from: "target", reason: "leave" };
  seen(left, joined(at(1, { host: "elsewhere" }), "returned"));
  expect(() => seen(left, joined(at(1), "returned"))).toThrow("back to 1");
});

function checkLimits(node: SimNode, counts: { timers?: number; streams?: number } = {}): void {
  const checker = new LimitChecker({ nodes: () => [node], timersOf: () => counts.timers ?? 0, streamsOf: () => counts.streams ?? 0 });
  checker.started(node);
  checker.started(nodeOf("other"));
  for (let second = 1; second <= 10; second++) checker.everySecond(second * 1000);
}

test("a queue, timers, streams or a view that grow beyond their bounds are found", () => {
  const view = [record("node"), record("other")];
  checkLimits(nodeOf("node", view));
  expect(() => checkLimits(nodeOf("node", view, bounds.queueLength(2) + 1))).toThrow("messages in its queue");
  expect(() => checkLimits(nodeOf("node", view), { timers: bounds.timers(2, 0) + 1 })).toThrow("timers");
  expect(() => checkLimits(nodeOf("node", view), { streams: bounds.streams + 1 })).toThrow("open streams");
  expect(() => checkLimits(nodeOf("node", [...view, record("gone")]))).toThrow("3 nodes in its view, more than 2");
});

test("a view that lists a name twice, or not the node itself, is found", () => {
  expect(() => checkLimits(nodeOf("node", [record("node"), record("node", { host: "b" })]))).toThrow("lists a name twice");
  expect(() => checkLimits(nodeOf("node", [record("other")]))).toThrow("does not list itself");
});

test("every kind of wrong view is found, also where the view was right before", () => {
  const views = new Map<string, readonly MemberRecord[]>();
  const right = [record("a"), record("b")];
  const nodes = ["a", "b"].map((name) => {
    const node = nodeOf(name);
    return { ...node, member: { ...node.member, members: () => views.get(name) ?? right } as SimNode["member"] };
  });
  const checker = new ConvergenceChecker();
  const wrongIn = (view: readonly MemberRecord[]) => {
    views.set("b", view);
    const wrong = checker.firstWrong(nodes);
    return wrong && checker.describe(wrong);
  };
  expect(wrongIn(right)).toBeUndefined();
  expect(wrongIn([record("b")])).toContain("lacks a");
  expect(wrongIn([record("a", { state: "suspect" }), record("b")])).toContain("suspect");
  expect(wrongIn([record("a", { state: "dead" }), record("b")])).toContain("dead");
  expect(wrongIn([record("a", { meta: Uint8Array.of(7) }), record("b")])).toContain("meta 07");
  expect(wrongIn([record("a", { host: "x" }), record("b")])).toContain("a@x");
  expect(wrongIn([...right, record("c")])).toContain("who is not there");
  expect(wrongIn([...right, record("c", { state: "dead" })])).toBeUndefined();
});

test("a heap that grows is found, one that only goes up and down is not", () => {
  const samples = (bytesAt: (at: number) => number) =>
    Array.from({ length: 40 }, (_, at) => ({ atMs: at * 600_000, heapBytes: bytesAt(at) }));
  expect(judge(samples((at) => 10_000_000 + at * 20_000)).flat).toBe(false);
  expect(judge(samples((at) => 10_000_000 + (at % 2) * 400_000)).flat).toBe(true);
  expect(judge(samples((at) => 10_000_000 + Math.min(at, 10) * 200_000)).flat).toBe(true);
});

test("a broken rule ends the run and names the seed", async () => {
  const cluster = new SimCluster(1);
  try {
    const [n1] = (await cluster.startJoined(3)) as [SimNode, SimNode, SimNode];
    await cluster.run(5000);
    // A cut that the checkers are not told of.
    cluster.network.partition([n1.host]);
    await expect(cluster.run(600_000)).rejects.toThrow("a rule is broken");
  } finally {
    await cluster.stop();
  }
});

test("a run that fails names the command that replays it", async () => {
  const onPhaseEnd = () => {
    throw new Error("on purpose");
  };
  const run = runScenario({ scenario: "clocks", seed: 3, nodes: 3, minutes: 1 }, { onPhaseEnd });
  await expect(run).rejects.toThrow("npm run sim -- --scenario clocks --seed 3 --nodes 3 --minutes 1");
});
