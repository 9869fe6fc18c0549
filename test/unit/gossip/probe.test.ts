import { expect, test } from "vitest";
import { Acks } from "../../../src/gossip/acks.ts";
import type { GossipAddress } from "../../../src/gossip/address.ts";
import { Awareness } from "../../../src/gossip/awareness.ts";
import type { PacketMessage } from "../../../src/gossip/codec/message.ts";
import { gossipMetrics } from "../../../src/gossip/gossip-metrics.ts";
import { Prober } from "../../../src/gossip/probe.ts";
import { ProbeHelper } from "../../../src/gossip/probe-helper.ts";
import type { NodeRecord } from "../../../src/gossip/state.ts";
import { noMetrics } from "../../../src/observability/index.ts";
import { SimClock } from "../../support/sim-clock.ts";
import { SimNetwork } from "../../support/sim-network.ts";
import { simRandom } from "../../support/sim-random.ts";

const self = "10.0.0.1";
const source = { address: Uint8Array.of(10, 0, 0, 1), port: 7946, node: "n1" };
const record = (index: number, more: Partial<NodeRecord> = {}): NodeRecord => ({
  name: `n${index}`,
  host: `10.0.0.${index}`,
  address: Uint8Array.of(10, 0, 0, index),
  port: 7946,
  meta: new Uint8Array(),
  versions: Uint8Array.of(1, 5, 2, 0, 0, 0),
  state: "alive",
  incarnation: 1,
  changedAtMs: 0,
  ...more,
});

/** A prober whose peers answer as `answer` says, and what it found. */
function create(nodes: NodeRecord[], answer: (to: GossipAddress, message: PacketMessage, acks: Acks) => void, overStream = false) {
  const clock = new SimClock();
  const network = new SimNetwork(clock, simRandom(1));
  const random = simRandom(2);
  const acks = new Acks(random);
  const awareness = new Awareness(8);
  const sent: string[] = [];
  const failed: string[] = [];
  const streamOnly: string[] = [];
  const prober = new Prober(
    { name: "n1", probeIntervalMs: 1000, probeTimeoutMs: 500, indirectChecks: 3 },
    {
      clock: network.clockOf(self),
      random,
      acks,
      awareness,
      metrics: gossipMetrics(noMetrics, { countByState: () => ({}), queueLength: () => 0, healthScore: () => 0 }),
      nodes: () => nodes,
      node: (name) => nodes.find((node) => node.name === name),
      source: () => source,
      send: (to, messages) => {
        sent.push(`${to.host} ${messages.map(({ type }) => type).join("+")}`);
        for (const message of messages) answer(to, message, acks);
      },
      streamPing: async () => overStream,
      afterPoll: (fn) => network.afterPoll(self, fn),
      onFailed: (node) => failed.push(node.name),
      onAnsweredOverStream: (node) => streamOnly.push(node.name),
      onRoundEnd: () => {},
    },
  );
  return { clock, network, prober, awareness, sent, failed, streamOnly };
}

test("a member that answers is probed directly and nobody else is asked", async () => {
  const { clock, prober, sent, failed } = create([record(1), record(2)], (_to, message, acks) => {
    if (message.type === "ping") acks.ack(message.seqNo);
  });
  await clock.advance(5000);
  prober[Symbol.dispose]();
  expect(new Set(sent)).toEqual(new Set(["10.0.0.2 ping"]));
  expect([sent.length, failed]).toEqual([5, []]);
});

test("a silent member fails after the interval; with every helper's negative answer the prober's health stays", async () => {
  const nodes = [record(1), record(2), record(3)];
  const { clock, prober, awareness, sent, failed } = create(nodes, (to, message, acks) => {
    if (message.type === "ping" && to.host === "10.0.0.3") acks.ack(message.seqNo);
    if (message.type === "indirectPing" && message.nack) acks.nack(message.seqNo);
  });
  await clock.advance(3500);
  prober[Symbol.dispose]();
  expect(failed).toContain("n2");
  expect(awareness.score).toBe(0);
  expect(sent).toContain("10.0.0.3 indirectPing");
});

test("a suspect gets the accusation with the ping", async () => {
  const { clock, prober, sent } = create([record(1), record(2, { state: "suspect" })], () => {});
  await clock.advance(1000);
  prober[Symbol.dispose]();
  expect(sent[0]).toBe("10.0.0.2 ping+suspect");
});

test("an answer over a stream only is an answer, and is reported", async () => {
  const { clock, prober, failed, streamOnly } = create([record(1), record(2)], () => {}, true);
  await clock.advance(2100);
  prober[Symbol.dispose]();
  expect([failed, streamOnly[0]]).toEqual([[], "n2"]);
});

test("an answer that waits to be read when the interval ends still counts, and the stall costs the prober health", async () => {
  let seqNo = 0;
  const { clock, network, prober, awareness, failed } = create([record(1), record(2)], (_to, message) => {
    if (message.type === "ping") seqNo = message.seqNo;
  });
  while (seqNo === 0) await clock.advance(10);
  network.pause(self);
  await clock.advance(3000);
  network.resume(self);
  await clock.advance(1);
  expect(failed).toEqual([]);
  expect(awareness.score).toBeGreaterThan(0);
  prober[Symbol.dispose]();
});

// B49
test("a helper says no at 80 % of the asker's remaining time, and still passes a late answer on", async () => {
  const clock = new SimClock();
  const acks = new Acks(simRandom(1));
  const sent: { atMs: number; to: string; message: PacketMessage }[] = [];
  using helper = new ProbeHelper(
    { probeIntervalMs: 1000, probeTimeoutMs: 500 },
    { clock, acks, source: () => source, send: (to, [message]) => message && sent.push({ atMs: clock.monotonic(), to: to.host, message }) },
  );
  const target = { target: Uint8Array.of(10, 0, 0, 2), port: 7946, node: "n2" };
  helper.serve({ type: "indirectPing", seqNo: 77, nack: true, source, ...target }, { host: "10.0.0.9", port: 1 });
  await clock.advance(450);
  const ping = sent[0]?.message as { seqNo: number };
  acks.ack(ping.seqNo);
  await clock.advance(1000);
  expect(sent.map(({ atMs, to, message }) => [atMs, to, message.type])).toEqual([
    [0, "10.0.0.2", "ping"],
    [400, "10.0.0.9", "nack"],
    [450, "10.0.0.9", "ack"],
  ]);
  expect(sent.slice(1).map(({ message }) => (message as { seqNo: number }).seqNo)).toEqual([77, 77]);
});
