import { expect, test } from "vitest";
import type { DeadMessage, SuspectMessage } from "../../../src/gossip/codec/message.ts";
import type { MembershipState } from "../../../src/gossip/state.ts";
import type { Effect, StateEvent } from "../../../src/gossip/state-event.ts";
import { SuspicionTimers } from "../../../src/gossip/suspicion-timers.ts";
import { aliveMessage as alive, createState, remoteNode as remote } from "../../support/membership-state.ts";
import { SimClock } from "../../support/sim-clock.ts";

const suspect = (node: string, incarnation: number, from = "n9"): SuspectMessage => ({ type: "suspect", node, incarnation, from });
const dead = (node: string, incarnation: number, from = "n9"): DeadMessage => ({ type: "dead", node, incarnation, from });
const foo = { meta: Buffer.from("foo") };
const own = { address: Uint8Array.of(10, 0, 0, 1) };
const elsewhere = { address: Uint8Array.of(10, 0, 2, 2), port: 9000 };

const apply = (state: MembershipState, nowMs: number, ...events: StateEvent[]) => events.flatMap((event) => state.apply(event, nowMs));
const events = (effects: Effect[]) => effects.flatMap((effect) => (effect.kind === "event" ? [effect.event.type] : []));
const broadcasts = (effects: Effect[]) => effects.flatMap((effect) => (effect.kind === "broadcast" ? [effect.message.type] : []));

// TestMemberList_AliveNode_NewNode
test("a new node enters the view as alive from now on, with one event and one message to pass on", () => {
  const state = createState();
  const effects = apply(state, 5000, alive("n1", 1));
  expect(state.node("n1")).toMatchObject({ state: "alive", incarnation: 1, changedAtMs: 5000 });
  expect([events(effects), broadcasts(effects)]).toEqual([["joined"], ["alive"]]);
});

// TestMemberList_AliveNode_SuspectNode
test("a suspect stays one at its old incarnation, and with the next is alive from now on without joining again", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1), suspect("n1", 1));
  apply(state, 1000, alive("n1", 1));
  expect(state.node("n1")).toMatchObject({ state: "suspect", changedAtMs: 0 });
  const effects = apply(state, 2000, alive("n1", 2));
  expect(state.node("n1")).toMatchObject({ state: "alive", incarnation: 2, changedAtMs: 2000 });
  expect([events(effects), broadcasts(effects)]).toEqual([["updated"], ["alive"]]);
});

// TestMemberList_AliveNode_Idempotent
test("a higher incarnation that says the same is passed on and is no event", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1));
  const effects = apply(state, 1000, alive("n1", 2));
  expect([events(effects), broadcasts(effects)]).toEqual([[], ["alive"]]);
});

// TestMemberList_AliveNode_ChangeMeta
test("new metadata with the next incarnation is an update that carries it", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1));
  const effects = apply(state, 1000, alive("n1", 2, foo));
  expect(effects).toContainEqual({
    kind: "event",
    event: expect.objectContaining({ type: "updated", reason: "meta", member: expect.objectContaining(foo) }),
  });
  expect(state.node("n1")).toMatchObject({ state: "alive", ...foo });
});

// TestMemberList_AliveNode_Refute
test("a newer claim about this node with other metadata is answered with a newer one, and its own metadata stays", () => {
  const state = createState();
  const effects = apply(state, 0, alive("self", 2, { ...own, ...foo }));
  expect(state.node("self")).toMatchObject({ state: "alive", incarnation: 3, meta: new Uint8Array() });
  expect([events(effects), broadcasts(effects)]).toEqual([[], ["alive"]]);
});

// TestMemberList_AliveNode_Conflict
test("a live node's name does not go to another address with an older incarnation, a dead one's with a newer does at once", () => {
  const state = createState();
  apply(state, 0, alive("n1", 3));
  const effects = apply(state, 0, alive("n1", 2, { ...elsewhere, ...foo }));
  expect(state.node("n1")).toMatchObject({ state: "alive", host: "10.0.1.1", port: 7946, meta: new Uint8Array() });
  expect(broadcasts(effects)).toEqual([]);
  apply(state, 0, dead("n1", 3), alive("n1", 4, { ...elsewhere, ...foo }));
  expect(state.node("n1")).toMatchObject({ state: "alive", host: "10.0.2.2", port: 9000, ...foo });
});

// TestMemberList_DeadNodeLeft
test("a node that left is left and not dead, and its name is free for another address", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1));
  const effects = apply(state, 0, dead("n1", 1, "n1"));
  expect([state.node("n1")?.state, events(effects), broadcasts(effects)]).toEqual(["left", ["left"], ["dead"]]);
  const back = apply(state, 0, alive("n1", 3, { ...elsewhere, ...foo }));
  expect(events(back)).toEqual(["joined"]);
  expect(state.node("n1")).toMatchObject({ state: "alive", host: "10.0.2.2", port: 9000, ...foo });
});

// TestMemberList_SuspectNode_DoubleSuspect
test("the same accusation again changes nothing and is not passed on", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1), suspect("n1", 1));
  expect(apply(state, 1000, suspect("n1", 1))).toEqual([]);
  expect(state.node("n1")).toMatchObject({ state: "suspect", changedAtMs: 0 });
});

// TestMemberList_SuspectNode_NoNode, _OldSuspect, TestMemberList_DeadNode_NoNode, _OldDead
test.each([suspect, dead])("an accusation of a stranger, or older than what is known, is nothing", (accuse) => {
  const state = createState();
  expect(apply(state, 0, accuse("n1", 1))).toEqual([]);
  apply(state, 0, alive("n1", 10));
  expect(apply(state, 0, accuse("n1", 1))).toEqual([]);
  expect([state.node("n1")?.state, state.size]).toEqual(["alive", 2]);
});

// TestMemberList_SuspectNode_Refute, TestMemberList_DeadNode_Refute
test.each([suspect, dead])("an accusation of this node itself is answered with a newer claim and costs health", (accuse) => {
  const state = createState();
  const effects = apply(state, 0, accuse("self", 1));
  expect(state.node("self")).toMatchObject({ state: "alive", incarnation: 2 });
  expect([events(effects), broadcasts(effects), effects.filter(({ kind }) => kind === "refuted").length]).toEqual([[], ["alive"], 1]);
});

// TestMemberList_DeadNode, _Double
test("a dead node is an event once, and what is said of it again is nothing", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1));
  const effects = apply(state, 1000, dead("n1", 1));
  expect([state.node("n1")?.changedAtMs, events(effects), broadcasts(effects)]).toEqual([1000, ["failed"], ["dead"]]);
  expect(apply(state, 2000, dead("n1", 2))).toEqual([]);
  expect(state.node("n1")).toMatchObject({ state: "dead", changedAtMs: 1000 });
});

// TestMemberList_DeadNode_AliveReplay
test("an old claim that arrives once more does not bring the dead back", () => {
  const state = createState();
  apply(state, 0, alive("n1", 10), dead("n1", 10), alive("n1", 10));
  expect(state.node("n1")?.state).toBe("dead");
});

// TestMemberList_MergeState
test("a peer's view: newer claims are taken, its suspects and dead are suspects, and only strangers are news", () => {
  const state = createState();
  const knows = [1, 2, 3].map((i) => alive(`n${i}`, 1, { address: Uint8Array.of(10, 0, 1, i) }));
  apply(state, 0, ...knows, suspect("n1", 1));
  const nodes = [remote("n1", 2, "alive", 1), remote("n2", 1, "suspect", 2), remote("n3", 1, "dead", 3), remote("n4", 2, "alive", 4)];
  const effects = apply(state, 0, { type: "merge", nodes, isSole: false });
  expect(["n1", "n2", "n3", "n4"].map((name) => `${state.node(name)?.state}/${state.node(name)?.incarnation}`)).toEqual([
    "alive/2",
    "suspect/1",
    "suspect/1",
    "alive/2",
  ]);
  expect(events(effects)).toEqual(["updated", "suspected", "suspected", "joined"]);
});

// TestMemberList_ProbeNode_Wrong_VSN
test("a claim with a version vector of zeros adds no node", () => {
  const state = createState();
  apply(state, 0, alive("n1", 1, { versions: new Uint8Array(6) }));
  expect(state.size).toBe(1);
});

/** A view whose suspicions run on virtual time. */
function withTimers(peers: number, suspicionMultiplier: number, suspicionMaxMultiplier: number) {
  const clock = new SimClock();
  const state = createState({ suspicionMultiplier, suspicionMaxMultiplier, probeIntervalMs: 100 });
  const deaths: number[] = [];
  const timers = new SuspicionTimers(
    { stallMs: 50, graceMs: 100 },
    { clock, afterPoll: (fn) => fn(), onExpired: (node, incarnation) => feed({ type: "suspicionExpired", node, incarnation }) },
  );
  function feed(...given: StateEvent[]): Effect[] {
    const effects = apply(state, clock.monotonic(), ...given);
    for (const effect of effects) {
      if (effect.kind === "armSuspicion") timers.arm(effect.node, effect.incarnation, effect.delayMs);
      if (effect.kind === "disarmSuspicion") timers.disarm(effect.node);
      if (effect.kind === "event" && effect.event.type === "failed") deaths.push(clock.monotonic());
    }
    return effects;
  }
  feed(...Array.from({ length: peers }, (_, i) => alive(`n${i + 1}`, 1, { address: Uint8Array.of(10, 0, 1, i + 1) })));
  return { clock, state, deaths, feed };
}

// TestMemberList_SuspectNode
test("a suspect that says nothing is dead after the shortest time in a small cluster, and that is passed on", async () => {
  const { clock, state, deaths, feed } = withTimers(1, 1, 6);
  expect(broadcasts(feed(suspect("n1", 1)))).toEqual(["suspect"]);
  await clock.advance(99);
  expect(state.node("n1")?.state).toBe("suspect");
  await clock.advance(2);
  expect(state.node("n1")).toMatchObject({ state: "dead", changedAtMs: 100 });
  expect(deaths).toEqual([100]);
});

// TestMemberList_ProbeNode_Suspect_Dogpile
test.each([
  [1, 0, 500],
  [2, 0, 500],
  [3, 0, 500],
  [4, 0, 1000],
  [5, 0, 1000],
  [5, 1, 750],
  [5, 2, 603],
  [5, 3, 500],
  [5, 4, 500],
])("with %i peers and %i confirmations a suspicion lasts %i ms", async (peers, confirmations, expectedMs) => {
  const { clock, deaths, feed } = withTimers(peers, 5, 2);
  feed(suspect("n1", 1, "self"));
  for (let i = 0; i < confirmations; i++) feed(suspect("n1", 1, `confirms-${i}`));
  await clock.advance(5000);
  expect(deaths.map((ms) => Math.round(ms))).toEqual([expectedMs]);
});

// TestSuspicion_Timer
test.each([
  ["nobody", [], 2000],
  ["one, and the accuser again", ["me", "foo"], 1250],
  ["one, three times", ["me", "foo", "foo", "foo"], 1250],
  ["two", ["me", "foo", "bar"], 810],
  ["three", ["me", "foo", "bar", "baz"], 500],
  ["four, of whom three count", ["me", "foo", "bar", "baz", "zoo"], 500],
])("confirmed by %s a suspicion ends in time whenever they come, once, and those who come late change nothing", async (_who, from, ms) => {
  const { clock, deaths, feed } = withTimers(8, 5, 4);
  feed(suspect("n1", 1, "me"));
  const counted: string[] = [];
  for (const name of from) {
    await clock.advance(25);
    if (broadcasts(feed(suspect("n1", 1, name))).length > 0) counted.push(name);
  }
  expect(counted).toEqual([...new Set(from)].slice(1, 4));
  await clock.advance(ms - 25 * from.length - 2);
  expect(deaths).toEqual([]);
  await clock.advance(4);
  expect(deaths).toHaveLength(1);
  feed(suspect("n1", 1, "late"));
  await clock.advance(5000);
  expect(deaths).toHaveLength(1);
});

// TestSuspicion_Timer_ZeroK
test("where nobody can confirm a suspicion the shortest time holds, and no confirmation counts", async () => {
  const { clock, deaths, feed } = withTimers(3, 2, 4);
  feed(suspect("n1", 1, "me"));
  expect(feed(suspect("n1", 1, "foo"))).toEqual([]);
  await clock.advance(5000);
  expect(deaths).toEqual([200]);
});

// TestSuspicion_Timer_Immediate
test("a confirmation after the shortened time is over ends the suspicion at once", async () => {
  const { clock, deaths, feed } = withTimers(3, 3, 10);
  feed(suspect("n1", 1, "me"));
  await clock.advance(1000);
  expect(deaths).toEqual([]);
  feed(suspect("n1", 1, "foo"));
  await clock.advance(1);
  expect(deaths).toEqual([1000]);
});
