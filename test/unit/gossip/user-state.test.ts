import { expect, test } from "vitest";
import { type ClusterGuard, openClusterGuard } from "../../../src/gossip/cluster-guard.ts";
import { HookCalls } from "../../../src/gossip/hook-calls.ts";
import type { MemberHooks } from "../../../src/gossip/hooks.ts";
import { UserState } from "../../../src/gossip/user-state.ts";
import { silentLogger } from "../../../src/observability/index.ts";
import { SimClock } from "../../support/sim-clock.ts";

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const text = (state: Uint8Array) => Buffer.from(state).toString("latin1");
const guard: ClusterGuard = { userState: () => bytes("blue"), acceptUserState: (state) => text(state) === "blue", acceptNode: () => true };

function create(hooks: MemberHooks, by: ClusterGuard = guard) {
  const warned: unknown[] = [];
  const logger = { ...silentLogger, warn: (message: string, fields: unknown) => void warned.push({ message, fields }) };
  const calls = new HookCalls(hooks, { clock: new SimClock(), logger });
  return { userState: new UserState({ guard: by, hooks: calls }), calls, warned };
}

test("a guard alone has the whole user state", () => {
  const { userState } = create({});
  expect(text(userState.local(true))).toBe("blue");
  expect(text(userState.question())).toBe("blue");
  expect(userState.accepts(bytes("blue"))).toBe(true);
  expect(userState.accepts(bytes("green"))).toBe(false);
});

test("an application alone has the whole user state, and learns whether it was a join; nothing is not merged", () => {
  const merged: string[] = [];
  const hooks: MemberHooks = {
    userState: (join) => bytes(`mine ${join}`),
    mergeUserState: (state, join) => void merged.push(`${text(state)} ${join}`),
  };
  const { userState } = create(hooks, openClusterGuard);
  expect(text(userState.local(true))).toBe("mine true");
  expect(userState.question()).toHaveLength(0);
  expect(userState.accepts(bytes("theirs"))).toBe(true);
  userState.merge(bytes("theirs"), false);
  userState.merge(new Uint8Array(), true);
  expect(merged).toEqual(["theirs false"]);
});

test("a guard and an application share the user state, and each gets its own part", () => {
  const merged: string[] = [];
  const hooks: MemberHooks = { userState: () => bytes("app"), mergeUserState: (state) => void merged.push(text(state)) };
  const { userState } = create(hooks);
  const state = userState.local(false);
  expect(text(state)).toBe("\0\0\0\x04blueapp");
  expect(userState.accepts(state)).toBe(true);
  userState.merge(state, false);
  expect(text(userState.question())).toBe("\0\0\0\x04blue");
  userState.merge(userState.question(), false);
  expect(merged).toEqual(["app"]);
});

test.each(["", "abc", "blue", "\xff\xff\xff\xff", "\0\0\0\x05blue"])(
  "user state that is not framed so is the guard's to judge: %j",
  (state) => {
    const merged: string[] = [];
    const { userState } = create({ mergeUserState: (each) => void merged.push(text(each)) });
    expect(userState.accepts(Buffer.from(state, "latin1"))).toBe(state === "blue");
    userState.merge(Buffer.from(state, "latin1"), false);
    expect(merged).toEqual([]);
  },
);

test("a hook that throws counts as absent, and is warned about once", () => {
  const fail = () => {
    throw new Error("broken");
  };
  const { calls, userState, warned } = create({ ackPayload: fail, onAck: fail, userState: fail, mergeUserState: fail }, openClusterGuard);
  expect(calls.ackPayload()).toBeNull();
  calls.onAck({ member: {} as never, roundTripMs: 1, payload: new Uint8Array() });
  expect(userState.local(true)).toHaveLength(0);
  userState.merge(bytes("x"), true);
  expect(warned).toEqual([{ message: "a gossip hook failed", fields: { hook: "ackPayload", error: new Error("broken") } }]);
});

test("the payload of an acknowledgement has at most 512 bytes", () => {
  const sized = (size: number) => create({ ackPayload: () => new Uint8Array(size) });
  expect(sized(512).calls.ackPayload()).toHaveLength(512);
  const { calls, warned } = sized(513);
  expect(calls.ackPayload()).toBeNull();
  expect(warned).toHaveLength(1);
  expect(create({}).calls.ackPayload()).toBeNull();
});

test("user state that peers would refuse is not sent, so that exchanges go on without it", () => {
  const sized = (size: number) => create({ userState: () => new Uint8Array(size) });
  expect(sized(16 << 20).calls.userState(true)).toHaveLength(16 << 20);
  const { userState, warned } = sized((16 << 20) + 1);
  expect(text(userState.local(true))).toBe("\0\0\0\x04blue");
  expect(warned).toHaveLength(1);
});
