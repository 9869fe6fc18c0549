import fc from "fast-check";
import { expect, test } from "vitest";
import { Awareness } from "../../../src/gossip/awareness.ts";
import { BroadcastQueue, retransmitLimit } from "../../../src/gossip/broadcast-queue.ts";
import type { NodeRecord } from "../../../src/gossip/node-record.ts";
import { NodeTable } from "../../../src/gossip/node-table.ts";
import { pushPullScale } from "../../../src/gossip/periodic.ts";
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
  [4, 5, 4],
  [4, 7, 6],
  [4, 9, 8],
  [4, 10, 8],
  [4, 100, 12],
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

const none = new Uint8Array();
const recordOf = (name: string, state: NodeRecord["state"]): NodeRecord => ({
  ...{ name, state, host: "10.0.0.1", port: 1, meta: none, incarnation: 1, address: none, versions: none, changedAtMs: 0 },
});

const text = (messages: Uint8Array[]) => messages.map((message) => Buffer.from(message).toString());

test("each message goes out a limited number of times, the least sent first, then the largest, then the newest", () => {
  const queue = new BroadcastQueue({ retransmitMultiplier: 2, maxEntries: 100 });
  queue.queueSystem("a", Buffer.from("a1"));
  queue.queueSystem("b", Buffer.from("b-long"));
  queue.queueSystem("c", Buffer.from("c1"));
  expect(text(queue.take(12, 1))).toEqual(["b-long", "c1"]);
  expect(text(queue.take(4, 1))).toEqual(["a1"]);
  expect(text(queue.take(100, 1))).toEqual(["b-long", "c1", "a1"]);
  expect(queue.size).toBe(0);
});

test("a newer message about one node replaces the older, whose sender hears of it", () => {
  const queue = new BroadcastQueue({ retransmitMultiplier: 1, maxEntries: 100 });
  const finished: string[] = [];
  queue.queueSystem("a", Buffer.from("old"), { onFinished: () => finished.push("old") });
  queue.queueSystem("a", Buffer.from("new"), { onFinished: () => finished.push("new") });
  expect(finished).toEqual(["old"]);
  expect(text(queue.take(100, 1))).toEqual(["new"]);
  expect(finished).toEqual(["old", "new"]);
});

test("a user message of any length goes with the next packet, however much membership news there is", () => {
  const queue = new BroadcastQueue({ retransmitMultiplier: 4, maxEntries: 1000 });
  for (let i = 0; i < 100; i++) queue.queueSystem(`n${i}`, new Uint8Array(50).fill(1));
  queue.queueUser(new Uint8Array(513).fill(2));
  const packet = queue.take(1400, 100);
  expect(packet.filter((message) => message[0] === 2)).toHaveLength(1);
  expect(packet.filter((message) => message[0] === 1)).toHaveLength(Math.floor((1400 - 515) / 52));
});

test("user messages get a share of each packet however much membership news there is, and may use what is left", () => {
  const queue = new BroadcastQueue({ retransmitMultiplier: 1, maxEntries: 1000 });
  for (let i = 0; i < 100; i++) queue.queueSystem(`n${i}`, Buffer.from(`system-${i % 10}`));
  for (let i = 0; i < 100; i++) queue.queueUser(Buffer.from(`user---${i % 10}`));
  const packet = text(queue.take(200, 1));
  expect(packet.filter((message) => message.startsWith("user"))).toHaveLength(5);
  expect(packet).toHaveLength(20);
});

test("the queue is bounded; the most transmitted message makes room", () => {
  const queue = new BroadcastQueue({ retransmitMultiplier: 9, maxEntries: 3 });
  queue.queueSystem("old", Buffer.from("old"));
  queue.take(100, 1);
  for (const key of ["a", "b", "c"]) queue.queueSystem(key, Buffer.from(key));
  expect(text(queue.take(100, 1)).sort()).toEqual(["a", "b", "c"]);
});

test("what is urgent goes out first, however much waits", () => {
  const queue = new BroadcastQueue({ retransmitMultiplier: 1, maxEntries: 1000 });
  for (let i = 0; i < 100; i++) queue.queueSystem(`n${i}`, Buffer.from(`a long system message ${i}`));
  for (let i = 0; i < 100; i++) queue.queueUser(Buffer.from(`a user message ${i}`));
  queue.queueSystem("self", Buffer.from("bye"), { urgent: true });
  expect(text(queue.take(30, 1))[0]).toBe("bye");
});

test("the queue is exact for any mix of messages: each goes out as often as it should and no packet is too full", () => {
  const message = fc.record({
    key: fc.nat(9),
    sizeBytes: fc.integer({ min: 1, max: 60 }),
    kind: fc.constantFrom("system", "user", "take"),
  });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 60 }), (steps) => {
      const queue = new BroadcastQueue({ retransmitMultiplier: 2, maxEntries: 100 });
      const current = new Map<string, number>();
      const sent = new Map<string, number>();
      let id = 0;
      const take = () => {
        const packet = text(queue.take(100, 1));
        expect(packet.reduce((sum, { length }) => sum + length + 2, 0)).toBeLessThanOrEqual(100);
        expect(new Set(packet).size).toBe(packet.length);
        for (const each of packet) sent.set(each.slice(0, 4), (sent.get(each.slice(0, 4)) ?? 0) + 1);
      };
      for (const { key, sizeBytes, kind } of steps) {
        if (kind === "take") take();
        else {
          const name = String(id++).padStart(4, "0");
          if (kind === "user") queue.queueUser(Buffer.from(name.padEnd(sizeBytes + 3, "u")));
          else queue.queueSystem(`n${key}`, Buffer.from(name.padEnd(sizeBytes + 3, "s")));
          current.set(kind === "user" ? name : `n${key}`, Number(name));
        }
      }
      while (queue.size > 0) take();
      for (const name of current.values()) expect(sent.get(String(name).padStart(4, "0"))).toBe(2);
      for (const count of sent.values()) expect(count).toBeLessThanOrEqual(2);
    }),
  );
});

test("a sample of a node table has distinct nodes, only such as are accepted, and all of them when it may", () => {
  const table = new NodeTable("n0");
  for (let i = 0; i < 50; i++) table.put(recordOf(`n${i % 40}`, i % 3 === 0 ? "dead" : "alive"));
  const isAlive = ({ state }: NodeRecord) => state === "alive";
  const alive = table.snapshot.filter(isAlive);
  expect(table.snapshot.map(({ name }) => name)).toEqual(Array.from({ length: 40 }, (_, i) => `n${i}`).sort());
  expect(new Set(table.sample(simRandom(1), 1000, isAlive))).toEqual(new Set(alive));
  const seen = new Set<string>();
  for (let seed = 0; seed < 200; seed++) {
    const some = table.sample(simRandom(seed), 3, isAlive);
    expect(new Set(some).size).toBe(3);
    for (const node of some) seen.add(`${node.name} ${node.state}`);
  }
  expect(seen).toEqual(new Set(alive.map(({ name }) => `${name} alive`)));
  table.delete("n7");
  expect(table.get("n7")).toBeUndefined();
  expect(table.snapshot).toHaveLength(39);
});

test("a node table's living and failed nodes are found anew only when one comes or goes, and this node always lives", () => {
  const table = new NodeTable("n2");
  for (const name of ["n3", "n1", "n2"]) table.put(recordOf(name, "alive"));
  const { living } = table;
  expect(living).toEqual(["n1", "n2", "n3"]);
  table.put(recordOf("n3", "suspect"));
  table.put(recordOf("n2", "left"));
  expect(table.living).toBe(living);
  table.put(recordOf("n3", "dead"));
  expect(table.living).toEqual(["n1", "n2"]);
  const { failed } = table;
  expect(failed.map(({ name }) => name)).toEqual(["n3"]);
  table.put(recordOf("n1", "suspect"));
  expect(table.failed).toBe(failed);
  table.delete("n3");
  expect([table.failed, table.living]).toEqual([[], ["n1", "n2"]]);
  table.delete("n1");
  expect(table.living).toEqual(["n2"]);
});
