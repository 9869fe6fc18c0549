import { expect, test } from "vitest";
import { Awareness } from "../../../src/gossip/awareness.ts";
import { BroadcastQueue, retransmitLimit } from "../../../src/gossip/broadcast-queue.ts";
import { pushPullScale } from "../../../src/gossip/periodic.ts";
import { RoundRobin } from "../../../src/gossip/round-robin.ts";
import { remainingSuspicionMs, suspicionBounds } from "../../../src/gossip/suspicion.ts";
import { simRandom } from "../../support/sim-random.ts";

test.each([
  [5, 1000],
  [10, 1000],
  [50, 1698],
  [100, 2000],
  [500, 2698],
  [1000, 3000],
])("with %i nodes the shortest suspicion is %i ms for a multiplier of 1 and a second", (nodes, minMs) => {
  const options = { suspicionMultiplier: 1, suspicionMaxMultiplier: 6, probeIntervalMs: 1000 };
  expect(suspicionBounds(nodes, options).minMs).toBeCloseTo(minMs, 5);
});

test.each([
  [0, 0, 30_000],
  [1, 2000, 14_000],
  [2, 3000, 4810],
  [3, 4000, -2000],
  [4, 5000, -3000],
])("%i of 3 confirmations after %i ms leave %i ms", (confirmed, elapsedMs, leftMs) => {
  // The last row has more confirmations than count; callers stop at the limit.
  const left = remainingSuspicionMs({ minMs: 2000, maxMs: 30_000, confirmations: 3 }, confirmed, elapsedMs);
  expect(Math.round(left / 10) * 10).toBe(leftMs);
});

test("in a cluster too small for confirmations the shortest time holds at once", () => {
  const options = { suspicionMultiplier: 4, suspicionMaxMultiplier: 6, probeIntervalMs: 1000 };
  expect(suspicionBounds(3, options)).toEqual({ minMs: 4000, maxMs: 4000, confirmations: 0 });
  expect(suspicionBounds(4, options)).toEqual({ minMs: 4000, maxMs: 24_000, confirmations: 2 });
});

test.each([
  [3, 0, 0],
  [3, 1, 3],
  [3, 99, 6],
])("a retransmit multiplier of %i with %i nodes means %i transmissions", (multiplier, nodes, limit) => {
  expect(retransmitLimit(multiplier, nodes)).toBe(limit);
});

test("full exchanges become rarer above 32, 64 and 128 nodes", () => {
  expect([1, 32, 33, 64, 65, 128].map(pushPullScale)).toEqual([1, 1, 2, 2, 3, 3]);
});

test("awareness stays between healthy and its limit", () => {
  const awareness = new Awareness(8);
  awareness.add(-1);
  expect(awareness.scale(1000)).toBe(1000);
  awareness.add(10);
  expect([awareness.score, awareness.scale(1000)]).toEqual([7, 8000]);
});

const text = (messages: Uint8Array[]) => messages.map((message) => Buffer.from(message).toString());

test("each message goes out a limited number of times, the least sent first, then the largest, then the newest", () => {
  const queue = new BroadcastQueue({ retransmitMultiplier: 2, maxEntries: 100 });
  queue.queueSystem("a", Buffer.from("a1"));
  queue.queueSystem("b", Buffer.from("b-long"));
  queue.queueSystem("c", Buffer.from("c1"));
  expect(text(queue.take(12, 5))).toEqual(["b-long", "c1"]);
  expect(text(queue.take(4, 5))).toEqual(["a1"]);
  expect(text(queue.take(100, 5))).toEqual(["b-long", "c1", "a1"]);
  expect(queue.size).toBe(0);
});

test("a newer message about one node replaces the older, whose sender hears of it", () => {
  const queue = new BroadcastQueue({ retransmitMultiplier: 1, maxEntries: 100 });
  const finished: string[] = [];
  queue.queueSystem("a", Buffer.from("old"), () => finished.push("old"));
  queue.queueSystem("a", Buffer.from("new"), () => finished.push("new"));
  expect(finished).toEqual(["old"]);
  expect(text(queue.take(100, 5))).toEqual(["new"]);
  expect(finished).toEqual(["old", "new"]);
});

test("user messages get a share of each packet however much membership news there is, and may use what is left", () => {
  const queue = new BroadcastQueue({ retransmitMultiplier: 1, maxEntries: 1000 });
  for (let i = 0; i < 100; i++) queue.queueSystem(`n${i}`, Buffer.from(`system-${i % 10}`));
  for (let i = 0; i < 100; i++) queue.queueUser(Buffer.from(`user---${i % 10}`));
  const packet = text(queue.take(200, 5));
  expect(packet.filter((message) => message.startsWith("user"))).toHaveLength(5);
  expect(packet).toHaveLength(20);
});

test("the queue is bounded; the most transmitted message makes room", () => {
  const queue = new BroadcastQueue({ retransmitMultiplier: 9, maxEntries: 3 });
  queue.queueSystem("old", Buffer.from("old"));
  queue.take(100, 5);
  for (const key of ["a", "b", "c"]) queue.queueSystem(key, Buffer.from(key));
  expect(text(queue.take(100, 5)).sort()).toEqual(["a", "b", "c"]);
});

test("a round robin visits everyone once a round, newcomers too, and leaves out who is gone", () => {
  const order = new RoundRobin(simRandom(3));
  const names = new Set(["a", "b", "c", "d"]);
  let rounds = 0;
  const next = () => order.next(names, () => rounds++);
  const first = Array.from({ length: 4 }, next);
  expect(first.sort()).toEqual(["a", "b", "c", "d"]);
  names.delete("b");
  expect(Array.from({ length: 3 }, next).sort()).toEqual(["a", "c", "d"]);
  names.add("e");
  expect(new Set(Array.from({ length: 8 }, next))).toEqual(names);
  expect(order.next(new Set(), () => {})).toBeUndefined();
  expect(rounds).toBeGreaterThan(1);
});
