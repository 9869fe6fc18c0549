import { expect, test } from "vitest";
import { BroadcastQueue } from "../../../src/gossip/broadcast-queue.ts";

const text = (messages: readonly Uint8Array[]) => messages.map((message) => Buffer.from(message).toString());
/** In a cluster of this size a message is sent twice for a multiplier of 1. */
const ten = 10;

function queueOf(multiplier: number, ...messages: readonly (readonly [key: string, message: string])[]): BroadcastQueue {
  const queue = new BroadcastQueue({ retransmitMultiplier: multiplier, maxEntries: 100 });
  for (const [key, message] of messages) queue.queueSystem(key, Buffer.from(message));
  return queue;
}

const four = [
  ["test", "1. this is a test."],
  ["foo", "2. this is a test."],
  ["bar", "3. this is a test."],
  ["baz", "4. this is a test."],
] as const;

// TestLimitedBroadcastLess
test.each([
  ["the less often sent", ["a", "sent-once"], ["b", "new-new-1"], "new-new-1"],
  ["the longer", ["a", "short"], ["b", "longer"], "longer"],
  ["the newer", ["a", "first"], ["b", "newer"], "newer"],
] as const)("where one of two fits, %s goes first", (why, first, second, expected) => {
  const queue = queueOf(1, first);
  if (why === "the less often sent") queue.take(100, ten);
  queue.queueSystem(second[0], Buffer.from(second[1]));
  expect(text(queue.take(12, ten))).toEqual([expected]);
});

test("what waits about a node can be taken back, and nothing else goes with it", () => {
  const queue = queueOf(1, ["test", "t1"], ["foo", "f1"]);
  queue.drop("test");
  queue.drop("unknown");
  expect(text(queue.take(100, ten))).toEqual(["f1"]);
  expect(queue.size).toBe(1);
  queue.queueSystem("test", Buffer.from("t2"));
  expect(text(queue.take(100, ten)).sort()).toEqual(["f1", "t2"]);
});

// TestTransmitLimited_Queue, TestMemberlistBroadcast_Invalidates
test("a message replaces the one about the same node and no other, and is the newest then", () => {
  const queue = queueOf(1, ["test", "t1"], ["foo", "f1"], ["bar", "b1"]);
  expect(queue.size).toBe(3);
  queue.queueSystem("test", Buffer.from("t2"));
  expect(queue.size).toBe(3);
  expect(text(queue.take(100, ten))).toEqual(["t2", "b1", "f1"]);
});

// TestMemberlistBroadcast_Message
test("a message goes out byte for byte as it was queued", () => {
  const message = Uint8Array.of(0, 255, 7, 9);
  const queue = new BroadcastQueue({ retransmitMultiplier: 1, maxEntries: 100 });
  queue.queueSystem("n", message);
  expect(queue.take(100, ten)[0]).toEqual(message);
});

// TestTransmitLimited_GetBroadcasts
test("a packet takes messages with two bytes more for each, up to its last byte", () => {
  expect(queueOf(3, ...four).take(80, ten)).toHaveLength(4);
  expect(queueOf(3, ...four).take(79, ten)).toHaveLength(3);
  expect(queueOf(3, ...four).take(19, ten)).toHaveLength(0);
});

// TestTransmitLimited_GetBroadcasts_Limit
test("each message is sent as often as its limit, those that waited longest first, and then the queue is empty", () => {
  const queue = queueOf(1, ...four);
  expect([79, 79, 79, 79].map((budget) => queue.take(budget, ten).length)).toEqual([3, 3, 2, 0]);
  expect(queue.size).toBe(0);
});

// TestTransmitLimited_Prune
test("a full queue lets go of the oldest of equal messages, and whoever waits for it is told", () => {
  const queue = new BroadcastQueue({ retransmitMultiplier: 1, maxEntries: 2 });
  const gone: string[] = [];
  for (const [key, message] of four) queue.queueSystem(key, Buffer.from(message), { onFinished: () => gone.push(key) });
  expect([queue.size, gone]).toEqual([2, ["test", "foo"]]);
  expect(text(queue.take(100, ten))).toEqual(["4. this is a test.", "3. this is a test."]);
});

// TestTransmitLimited_ordering
test("messages go out by how often they were sent, then by their length, then the newest first", () => {
  const queue = queueOf(10, ["old", "sent-twice-and-long"]);
  queue.take(100, ten);
  queue.take(100, ten);
  queue.queueSystem("middle", Buffer.from("sent-once"));
  queue.take(11, ten);
  for (const message of ["new-a", "new-b", "new-long", "new-c"]) queue.queueSystem(message, Buffer.from(message));
  expect(text(queue.take(1000, ten))).toEqual(["new-long", "new-c", "new-b", "new-a", "sent-once", "sent-twice-and-long"]);
});

test("a message that is alone, replaced and queued again is not lost", () => {
  const queue = queueOf(1, ["n", "first"]);
  for (const message of ["second", "third"]) {
    queue.queueSystem("n", Buffer.from(message));
    expect([text(queue.take(100, ten)), queue.size]).toEqual([[message], 1]);
  }
});
