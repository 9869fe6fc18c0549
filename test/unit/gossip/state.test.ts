import { expect, test } from "vitest";
import type { AliveMessage, DeadMessage, NodeState, PushNodeState, SuspectMessage } from "../../../src/gossip/codec/message.ts";
import type { MembershipState } from "../../../src/gossip/state.ts";
import type { Effect, StateEvent } from "../../../src/gossip/state-event.ts";
import { createState } from "../../support/membership-state.ts";

const versions = Uint8Array.of(1, 5, 2, 0, 0, 0);
const none = new Uint8Array();
const addressA = Uint8Array.of(10, 0, 0, 2);
const addressB = Uint8Array.of(10, 0, 0, 3);
const own = Uint8Array.of(10, 0, 0, 1);

const alive = (node: string, incarnation: number, more: Partial<AliveMessage> = {}): AliveMessage => ({
  type: "alive",
  node,
  incarnation,
  address: addressA,
  port: 7946,
  meta: none,
  versions,
  ...more,
});
const suspect = (node: string, incarnation: number, from = "n9"): SuspectMessage => ({ type: "suspect", node, incarnation, from });
const dead = (node: string, incarnation: number, from = "n9"): DeadMessage => ({ type: "dead", node, incarnation, from });
const remote = (name: string, incarnation: number, state: NodeState, more: Partial<PushNodeState> = {}): PushNodeState => ({
  name,
  incarnation,
  state,
  address: addressA,
  port: 7946,
  meta: none,
  versions,
  ...more,
});

function apply(state: MembershipState, nowMs: number, ...events: StateEvent[]): Effect[] {
  return events.flatMap((event) => state.apply(event, nowMs));
}

const kinds = (effects: Effect[]) => effects.map((effect) => (effect.kind === "event" ? effect.event.type : effect.kind));
const sent = (effects: Effect[]) => effects.flatMap((effect) => (effect.kind === "send" ? [effect] : []));
const stateOf = (state: MembershipState, name: string) => {
  const record = state.node(name);
  return record && `${record.state}/${record.incarnation}`;
};

test("a new node joins, is passed on, and the same claim again changes nothing", () => {
  const state = createState();
  expect(kinds(apply(state, 0, alive("n1", 1)))).toEqual(["broadcast", "joined"]);
  const snapshot = state.nodes;
  expect(apply(state, 0, alive("n1", 1))).toEqual([]);
  expect(state.nodes).toBe(snapshot);
  expect(state.nodes.map(({ name }) => name)).toEqual(["n1", "self"]);
});

test("new metadata needs a newer incarnation", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1));
  apply(state, 0, alive("n1", 1, { meta: Uint8Array.of(1) }));
  expect(state.node("n1")?.meta).toEqual(new Uint8Array());
  expect(kinds(apply(state, 0, alive("n1", 2, { meta: Uint8Array.of(1) })))).toEqual(["broadcast", "updated"]);
});

test("a node that says two things of itself in one incarnation hears of both, and so refutes the one that is over", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1));
  const other = alive("n1", 1, { meta: Uint8Array.of(1) });
  const sent = apply(state, 1000, other).map((effect) => (effect.kind === "send" ? effect.message : effect));
  expect(sent).toEqual([alive("n1", 1), other]);
  expect(apply(state, 1001, other)).toEqual([]);
});

// B33
test("of equal incarnations dead beats suspect beats alive, in every order of arrival", () => {
  const messages = [alive("n1", 5), dead("n1", 5), suspect("n1", 5), alive("n1", 5)];
  for (const order of permutations(messages)) {
    const state = createState();
    apply(state, 0, alive("n1", 4), ...order);
    expect(stateOf(state, "n1")).toBe("dead/5");
  }
});

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, index) => permutations(items.filter((_, i) => i !== index)).map((rest) => [item, ...rest]));
}

test("a suspicion is passed on, armed, shortened by other accusers only, and ends in death", () => {
  const state = createState();
  for (let i = 2; i <= 7; i++) apply(state, 0, alive(`n${i}`, 1, { address: Uint8Array.of(10, 0, 1, i) }));
  const arms = (effects: Effect[]) => effects.flatMap((effect) => (effect.kind === "armSuspicion" ? [Math.round(effect.delayMs)] : []));
  const first = apply(state, 0, suspect("n2", 1, "n3"));
  expect(kinds(first)).toEqual(["broadcast", "suspected", "armSuspicion"]);
  expect(arms(first)).toEqual([24_000]);
  expect(arms(apply(state, 1000, suspect("n2", 1, "n3")))).toEqual([]);
  expect(arms(apply(state, 1000, suspect("n2", 1, "n4")))).toEqual([10_381]);
  expect(arms(apply(state, 1000, suspect("n2", 1, "n4")))).toEqual([]);
  expect(arms(apply(state, 1000, suspect("n2", 1, "n5")))).toEqual([3000]);
  expect(arms(apply(state, 1000, suspect("n2", 1, "n6")))).toEqual([]);
  expect(apply(state, 2000, { type: "suspicionExpired", node: "n2", incarnation: 0 })).toEqual([]);
  expect(kinds(apply(state, 4000, { type: "suspicionExpired", node: "n2", incarnation: 1 }))).toEqual([
    "disarmSuspicion",
    "broadcast",
    "failed",
  ]);
});

test("a suspect that answers with a newer incarnation is alive again and its timer stops", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1), suspect("n1", 1));
  expect(kinds(apply(state, 10, alive("n1", 2)))).toEqual(["disarmSuspicion", "broadcast", "updated"]);
  expect(apply(state, 9999, { type: "suspicionExpired", node: "n1", incarnation: 1 })).toEqual([]);
  expect(stateOf(state, "n1")).toBe("alive/2");
});

test("events tell a node that left from one that failed, with the reason and who said so", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1), alive("n2", 1, { address: addressB }));
  const [left] = apply(state, 0, dead("n1", 1, "n1")).filter(({ kind }) => kind === "event");
  expect(left).toMatchObject({ event: { type: "left", from: "n1", reason: "leave", member: { name: "n1", state: "left" } } });
  const [failed] = apply(state, 0, dead("n2", 1, "n9")).filter(({ kind }) => kind === "event");
  expect(failed).toMatchObject({ event: { type: "failed", from: "n9", reason: "declared", member: { name: "n2", state: "dead" } } });
});

test("accusations of unknown nodes and old accusations are ignored", () => {
  const state = createState();
  expect(apply(state, 0, suspect("n1", 1), dead("n1", 1))).toEqual([]);
  apply(state, 0, alive("n1", 3));
  expect(apply(state, 0, suspect("n1", 2), dead("n1", 2))).toEqual([]);
});

test("an accusation of this node is refuted with a newer incarnation", () => {
  const state = createState();
  const effects = apply(state, 0, suspect("self", 7));
  expect(kinds(effects)).toEqual(["broadcast", "refuted"]);
  expect(effects[0]).toMatchObject({ message: { type: "alive", node: "self", incarnation: 8 } });
  expect(kinds(apply(state, 0, suspect("self", 7)))).toEqual([]);
  expect(state.own.incarnation).toBe(8);
});

test("an earlier life of this node with other metadata is refuted, an equal claim is not", () => {
  const state = createState();
  expect(apply(state, 0, alive("self", 1, { address: own }))).toEqual([]);
  expect(kinds(apply(state, 0, alive("self", 1, { address: own, meta: Uint8Array.of(9) })))).toEqual(["broadcast", "refuted"]);
  expect(kinds(apply(state, 0, alive("self", 40, { address: own })))).toEqual(["broadcast", "refuted"]);
  expect(state.own.incarnation).toBe(41);
});

// B31
test("a node that restarted is told what it is accused of, once in a while", () => {
  const state = createState();
  apply(state, 0, alive("n2", 100), dead("n2", 100));
  const [accusation] = sent(apply(state, 1000, alive("n2", 1)));
  expect(accusation).toMatchObject({ to: { address: addressA }, message: { type: "dead", node: "n2", incarnation: 100, from: "self" } });
  expect(sent(apply(state, 1100, alive("n2", 1)))).toEqual([]);
  expect(sent(apply(state, 2000, alive("n2", 1)))).toHaveLength(1);
  apply(state, 2000, alive("n2", 101));
  expect(stateOf(state, "n2")).toBe("alive/101");
});

// B34
test("a name that left is free for a new address at once", () => {
  const state = createState();
  apply(state, 0, alive("n1", 4), dead("n1", 4, "n1"));
  apply(state, 1000, alive("n1", 1, { address: addressB }));
  expect(state.node("n1")).toMatchObject({ state: "alive", host: "10.0.0.3", incarnation: 1 });
});

// B34
test("a suspect's or dead node's name moves to a new address with a newer incarnation, and the newcomer is told which", () => {
  for (const accuse of [suspect, dead]) {
    const state = createState();
    apply(state, 0, alive("n1", 4), accuse("n1", 4));
    const [accusation] = sent(apply(state, 1000, alive("n1", 1, { address: addressB })));
    expect(accusation).toMatchObject({ to: { address: addressB }, message: { node: "n1", incarnation: 4 } });
    expect(state.node("n1")?.host).toBe("10.0.0.2");
    apply(state, 1000, alive("n1", 5, { address: addressB }));
    expect(state.node("n1")).toMatchObject({ state: "alive", host: "10.0.0.3" });
    expect(state.nodes.filter(({ name }) => name === "n1")).toHaveLength(1);
  }
});

// B35
test("of two live nodes with one name every view keeps the same one, whichever it heard of first, and both are told", () => {
  const a = alive("n1", 3);
  const b = alive("n1", 3, { address: addressB });
  for (const order of [
    [a, b],
    [b, a],
  ]) {
    const state = createState();
    const effects = apply(state, 0, ...order);
    expect(state.node("n1")?.host).toBe("10.0.0.2");
    expect(sent(effects).map(({ to, message }) => [to.address, (message as AliveMessage).address])).toEqual([
      [addressB, addressA],
      [addressA, addressB],
    ]);
    expect(effects).toContainEqual(
      expect.objectContaining({ event: expect.objectContaining({ type: "conflict", other: "10.0.0.3:7946", lost: false }) }),
    );
    for (let i = 0; i < 5; i++) apply(state, i, ...order);
    expect(state.node("n1")?.host).toBe("10.0.0.2");
  }
});

// B35
test("the node that is not kept falls silent about the name and takes it back when the other is gone", () => {
  const state = createState();
  const winner = alive("self", 1, { address: Uint8Array.of(10, 0, 0, 0) });
  expect(apply(state, 0, winner)).toContainEqual(
    expect.objectContaining({ event: expect.objectContaining({ type: "conflict", lost: true, other: "10.0.0.1:7946" }) }),
  );
  expect(state.node("self")?.host).toBe("10.0.0.0");
  expect(apply(state, 0, suspect("self", 1), { type: "setMeta", meta: Uint8Array.of(1) })).toEqual([]);
  expect(kinds(apply(state, 0, dead("self", 1)))).toEqual(["broadcast", "refuted"]);
  expect(state.node("self")).toMatchObject({ host: "10.0.0.1", state: "alive" });
});

test("the same IPv4 address in 4 and in 16 bytes is no conflict, and is passed on as it came", () => {
  const state = createState();
  const mapped = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, ...addressA);
  apply(state, 0, alive("n1", 1, { address: mapped }));
  expect(kinds(apply(state, 0, alive("n1", 2)))).toEqual(["broadcast"]);
  apply(state, 0, alive("n1", 3, { address: mapped }));
  expect(state.node("n1")).toMatchObject({ host: "10.0.0.2", address: mapped });
});

test("a peer's dead and suspect become suspicions here, its left is believed", () => {
  const state = createState();
  const nodes = ["n1", "n2", "n3"];
  nodes.forEach((name, i) => {
    apply(state, 0, alive(name, 1, { address: Uint8Array.of(10, 0, 1, i) }));
  });
  apply(state, 0, {
    type: "merge",
    nodes: [remote("n1", 1, "dead"), remote("n2", 1, "suspect"), remote("n3", 1, "left"), remote("n4", 1, "alive")],
    isSole: false,
  });
  expect(["n1", "n2", "n3", "n4"].map((name) => state.node(name)?.state)).toEqual(["suspect", "suspect", "left", "alive"]);
});

test("what the first peer tells a node that knew nobody is news to no one else, unless another peer was told so just before", () => {
  const nodes = [remote("n1", 1, "alive"), remote("n2", 1, "alive", { address: Uint8Array.of(10, 0, 0, 9) })];
  const newcomer = createState();
  expect(kinds(apply(newcomer, 0, { type: "merge", nodes, isSole: true }))).toEqual(["joined", "joined"]);
  const third = [remote("n3", 1, "alive", { address: Uint8Array.of(10, 0, 0, 10) })];
  expect(kinds(apply(newcomer, 0, { type: "merge", nodes: third, isSole: true }))).toEqual(["broadcast", "joined"]);
  expect(kinds(apply(createState(), 0, { type: "merge", nodes, isSole: false }))).toEqual(["broadcast", "joined", "broadcast", "joined"]);
});

test("a push/pull that calls this node dead is refuted", () => {
  const state = createState();
  expect(kinds(apply(state, 0, { type: "merge", nodes: [remote("self", 6, "dead", { address: own })], isSole: false }))).toEqual([
    "broadcast",
    "refuted",
  ]);
  expect(state.own.incarnation).toBe(7);
});

test("after leaving nothing is refuted, and a return has a newer incarnation", () => {
  const state = createState();
  expect(kinds(apply(state, 0, { type: "leave" }))).toEqual(["broadcast", "left"]);
  expect(apply(state, 0, suspect("self", 9), dead("self", 9), alive("self", 9, { address: own }))).toEqual([]);
  expect(kinds(apply(state, 0, { type: "rejoin" }))).toEqual(["broadcast", "joined"]);
  expect(stateOf(state, "self")).toBe("alive/2");
});

test("who lost its name, left and returns stays silent about it until the holder is gone", () => {
  const state = createState();
  apply(state, 0, alive("self", 3, { address: addressB }));
  expect(state.nameLost).toBe(true);
  expect(apply(state, 0, { type: "leave" }, { type: "rejoin" })).toEqual([]);
  expect(state.node("self")?.address).toEqual(addressB);
  expect(kinds(apply(state, 0, dead("self", 3)))).toEqual(["broadcast", "refuted"]);
  expect(state.node("self")?.address).toEqual(own);
});

test("the dead and the left are forgotten after a time, and the owner hears of it", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1), dead("n1", 1), alive("n2", 1), dead("n2", 1, "n2"));
  expect(apply(state, 29_999, { type: "reap", olderThanMs: 30_000 })).toEqual([]);
  expect(kinds(apply(state, 30_000, { type: "reap", olderThanMs: 30_000 }))).toEqual(["forgotten", "forgotten"]);
  expect(state.nodes.map(({ name }) => name)).toEqual(["self"]);
});

test("a node whose port refused two members fails at once with that reason, unless it has refuted by then", () => {
  const state = createState();
  apply(state, 0, alive("n2", 5));
  expect(apply(state, 0, { type: "refused", node: "n2", incarnation: 4 })).toEqual([]);
  const effects = apply(state, 0, { type: "refused", node: "n2", incarnation: 5 });
  expect(
    effects.flatMap((effect) =>
      effect.kind === "event" ? [`${effect.event.type} ${"reason" in effect.event && effect.event.reason}`] : [],
    ),
  ).toEqual(["suspected unreachable", "failed refused"]);
  expect(effects).toContainEqual({ kind: "broadcast", message: dead("n2", 5, "self") });
  expect(effects.filter(({ kind }) => kind === "disarmSuspicion")).toHaveLength(1);
  expect(stateOf(state, "n2")).toBe("dead/5");
  apply(state, 0, alive("n2", 6));
  expect(stateOf(state, "n2")).toBe("alive/6");
});

test("a node that probes this one is asked for its view if unknown, told the accusation if accused, and else nothing", () => {
  const state = createState();
  const heard = (node: string, address = addressA): StateEvent => ({ type: "heard", node, address, port: 7946 });
  expect(apply(state, 0, heard("n2"))).toEqual([{ kind: "unknown", address: addressA, port: 7946 }]);
  apply(state, 0, alive("n2", 1));
  expect(apply(state, 0, heard("n2"))).toEqual([]);
  apply(state, 0, suspect("n2", 1));
  expect(sent(apply(state, 1000, heard("n2"))).map(({ message }) => message)).toEqual([suspect("n2", 1, "self")]);
  apply(state, 1000, dead("n2", 1));
  expect(sent(apply(state, 1100, heard("n2")))).toEqual([]);
  expect(sent(apply(state, 2000, heard("n2"))).map(({ message }) => message)).toEqual([dead("n2", 1, "self")]);
  // The name is free, and whoever pings from elsewhere may not know it.
  expect(sent(apply(state, 3000, heard("n2", addressB))).map(({ to, message }) => [to.address, message])).toEqual([
    [addressB, dead("n2", 1, "self")],
  ]);
  const other = createState();
  apply(other, 0, alive("n2", 1));
  apply(other, 0, suspect("n2", 1));
  expect(apply(other, 1000, heard("n2", addressB))).toEqual([]);
});

test("a node that holds its name for another's takes it back as soon as it hears that the other one is dead", () => {
  const state = createState();
  apply(state, 0, alive("self", 6, { address: addressB }));
  expect(state.nameLost).toBe(true);
  expect(kinds(apply(state, 1000, dead("self", 6)))).toEqual(["broadcast", "refuted"]);
  expect([state.nameLost, state.own.incarnation]).toEqual([false, 7]);
});
