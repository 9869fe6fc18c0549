import { expect, test } from "vitest";
import type { AliveMessage, DeadMessage, SuspectMessage } from "../../../src/gossip/codec/message.ts";
import type { MembershipState } from "../../../src/gossip/state.ts";
import type { Effect, StateEvent } from "../../../src/gossip/state-event.ts";
import { aliveMessage as alive, createState, remoteNode as remote, testVersions } from "../../support/membership-state.ts";

const none = new Uint8Array();
const addressB = Uint8Array.of(10, 0, 0, 3);
const suspect = (node: string, incarnation: number, from = "n9"): SuspectMessage => ({ type: "suspect", node, incarnation, from });
const dead = (node: string, incarnation: number, from = "n9"): DeadMessage => ({ type: "dead", node, incarnation, from });

const apply = (state: MembershipState, nowMs: number, ...events: StateEvent[]) => events.flatMap((event) => state.apply(event, nowMs));
const kinds = (effects: Effect[]) => effects.map((effect) => (effect.kind === "event" ? effect.event.type : effect.kind));
const stateOf = (state: MembershipState, name: string) => {
  const record = state.node(name);
  return record && `${record.state}/${record.incarnation}`;
};

// B43
test("a node whose metadata names another cluster never enters the view", () => {
  const state = createState({ acceptNode: ({ meta }) => meta[0] !== 66 });
  const foreign = { meta: Uint8Array.of(66) };
  expect(
    kinds(
      apply(state, 0, alive("n1", 1, foreign), { type: "merge", nodes: [{ ...remote("n2", 1, "alive", 2), ...foreign }], isSole: false }),
    ),
  ).toEqual(["dropped", "dropped"]);
  expect(state.nodes).toHaveLength(1);
});

test("claims that would harm this node or old peers are dropped", () => {
  const state = createState();
  const bad: Partial<AliveMessage>[] = [
    { node: "" },
    { node: "x".repeat(256) },
    { address: none },
    { port: 0 },
    { meta: new Uint8Array(513) },
    { versions: Uint8Array.of(6, 7, 7, 0, 0, 0) },
    { versions: Uint8Array.of(0, 0, 0) },
    { versions: Uint8Array.of(5, 1, 2, 0, 0, 0) },
  ];
  for (const part of bad) expect(kinds(apply(state, 0, alive("n1", 1, part)))).toEqual(["dropped"]);
  apply(state, 0, alive("n1", 1, { versions: Uint8Array.of(1, 5, 2) }));
  expect(state.node("n1")?.versions).toEqual(testVersions);
});

test("a forged leap of an incarnation is dropped, and what can be accused can always be refuted", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1), alive("n2", 1, { address: addressB }));
  for (const forged of [alive("n1", 0x80000000), suspect("n1", 0xffffffff), dead("n1", 0xffffffff), suspect("self", 0xffffffff)]) {
    expect(kinds(apply(state, 0, forged))).toEqual(["dropped"]);
  }
  // The farthest leap that is believed: the accused answers with the next number, and so on.
  apply(state, 0, suspect("n1", 0x7fffffff), alive("n1", 0x80000000));
  expect(stateOf(state, "n1")).toBe("alive/2147483648");
  apply(state, 0, suspect("n1", 0x80000000), alive("n1", 0x80000001));
  expect(stateOf(state, "n1")).toBe("alive/2147483649");
  apply(state, 0, suspect("n1", 0x80000001), dead("n1", 0x80000001));
  expect(stateOf(state, "n1")).toBe("dead/2147483649");
  const newcomer = createState();
  apply(newcomer, 0, alive("n1", 0x80000001));
  expect(stateOf(newcomer, "n1")).toBe("alive/2147483649");
  expect(kinds(apply(state, 0, suspect("self", 0x7fffffff)))).toEqual(["broadcast", "refuted"]);
  expect(state.own.incarnation).toBe(0x80000000);
});

test("an incarnation never grows beyond what the wire can hold", () => {
  const state = createState();
  apply(state, 0, { type: "succeed", incarnation: 0xffffffff }, { type: "setMeta", meta: Uint8Array.of(1) });
  apply(state, 0, { type: "leave" }, { type: "rejoin" });
  expect(state.own.incarnation).toBe(0xffffffff);
});

test("an accuser with an impossible name is not passed on", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1));
  for (const claim of [suspect("n1", 1, "x".repeat(256)), dead("n1", 1, "x".repeat(256))]) {
    expect(kinds(apply(state, 0, claim))).toEqual(["dropped"]);
  }
  expect(stateOf(state, "n1")).toBe("alive/1");
});

test("a flood of invented nodes fills the view up to its limit and no further, and known nodes are still heard", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1));
  let dropped = 0;
  for (let i = 0; i < 20_000; i++) {
    for (const effect of apply(state, 0, alive(`fake-${i}`, 1, { address: addressB, port: 1 + (i % 60_000) }))) {
      if (effect.kind === "dropped" && effect.reason === "full") dropped++;
    }
  }
  expect([state.size, dropped]).toEqual([16_384, 20_002 - 16_384]);
  expect(kinds(apply(state, 0, alive("n1", 2, { meta: Uint8Array.of(1) })))).toEqual(["broadcast", "updated"]);
  apply(state, 0, dead("fake-1", 1), { type: "reap", olderThanMs: 0 }, alive("n2", 1));
  expect(stateOf(state, "n2")).toBe("alive/1");
});
