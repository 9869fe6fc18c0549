import { expect, test } from "vitest";
import { Acks } from "../../../src/gossip/acks.ts";
import type { GossipAddress } from "../../../src/gossip/address.ts";
import { Awareness } from "../../../src/gossip/awareness.ts";
import type { PacketMessage } from "../../../src/gossip/codec/message.ts";
import { gossipMetrics } from "../../../src/gossip/gossip-metrics.ts";
import type { NodeRecord } from "../../../src/gossip/node-record.ts";
import { NodeTable } from "../../../src/gossip/node-table.ts";
import type { ProbeOptions } from "../../../src/gossip/probe.ts";
import { ProbeHelper } from "../../../src/gossip/probe-helper.ts";
import { Prober } from "../../../src/gossip/prober.ts";
import type { StreamAnswer } from "../../../src/gossip/push-pull.ts";
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

/** A prober whose peers answer as `answer` says, over streams as `stream` says, and what it found. */
function create(
  nodes: NodeRecord[],
  answer: (to: GossipAddress, message: PacketMessage, acks: Acks) => void,
  stream: StreamAnswer = "silent",
  options: Partial<ProbeOptions> = {},
) {
  const clock = new SimClock();
  const network = new SimNetwork(clock, simRandom(1));
  const random = simRandom(2);
  const acks = new Acks(random);
  const awareness = new Awareness(8);
  const table = new NodeTable("n1");
  for (const node of nodes) table.put(node);
  const sent: string[] = [];
  const found: { kind: "failed" | "refused" | "stream"; name: string; atMs: number }[] = [];
  const firstPingMs = { value: 0 };
  const note = (kind: "failed" | "refused" | "stream") => (node: NodeRecord) => {
    found.push({ kind, name: node.name, atMs: clock.monotonic() - firstPingMs.value });
  };
  const prober = new Prober(
    {
      ...{ name: "n1", probeIntervalMs: 1000, probeTimeoutMs: 500, indirectChecks: 3, streamProbes: true, crashProof: true },
      ...{ confirmations: 2, ...options },
    },
    {
      clock: network.clockOf(self),
      random,
      acks,
      awareness,
      metrics: gossipMetrics(noMetrics, { countByState: () => ({}), queueLength: () => 0, healthScore: () => 0 }),
      sample: (count, accept) => table.sample(random, count, accept),
      living: () => table.living,
      nodes: () => table.snapshot,
      node: (name) => table.get(name),
      source: () => source,
      send: (to, messages) => {
        if (sent.length === 0) firstPingMs.value = clock.monotonic();
        sent.push(`${to.host} ${messages.map(({ type }) => type).join("+")}`);
        for (const message of messages) answer(to, message, acks);
      },
      streamPing: async () => stream,
      onDirectAck: () => {},
      afterPoll: (fn) => network.afterPoll(self, fn),
      onFailed: note("failed"),
      onRefused: note("refused"),
      onAnsweredOverStream: note("stream"),
      onRoundEnd: () => {},
    },
  );
  const failed = () => found.filter(({ kind }) => kind === "failed").map(({ name }) => name);
  return { clock, network, prober, awareness, table, sent, found, failed };
}

test("a member that answers is probed directly and nobody else is asked", async () => {
  const { clock, prober, sent, failed } = create([record(1), record(2)], (_to, message, acks) => {
    if (message.type === "ping") acks.ack(message.seqNo);
  });
  await clock.advance(5000);
  prober[Symbol.dispose]();
  expect(new Set(sent)).toEqual(new Set(["10.0.0.2 ping"]));
  expect([sent.length, failed()]).toEqual([5, []]);
});

test("a silent member fails after the interval; with every helper's negative answer the prober's health stays", async () => {
  const nodes = [record(1), record(2), record(3)];
  const { clock, prober, awareness, sent, failed } = create(nodes, (to, message, acks) => {
    if (message.type === "ping" && to.host === "10.0.0.3") acks.ack(message.seqNo);
    if (message.type === "indirectPing" && message.nack) acks.nack(message.seqNo);
  });
  await clock.advance(3500);
  prober[Symbol.dispose]();
  expect(failed()).toContain("n2");
  expect(awareness.score).toBe(0);
  expect(sent).toContain("10.0.0.3 indirectPing");
});

test("negative answers that come twice do not make a failed probe one that counts as health", async () => {
  const { clock, prober, awareness, sent, failed } = create([record(1), record(2), record(3)], (to, message, acks) => {
    if (message.type === "ping" && to.host === "10.0.0.3") acks.ack(message.seqNo);
    if (message.type === "indirectPing") for (let i = 0; i < 3; i++) acks.nack(message.seqNo);
  });
  awareness.add(4);
  while (failed().length === 0) await clock.advance(10);
  prober[Symbol.dispose]();
  const answered = sent.filter((each) => each === "10.0.0.3 ping").length;
  expect(awareness.score).toBe(4 - answered);
});

test("a suspect gets the accusation with the ping", async () => {
  const { clock, prober, sent } = create([record(1), record(2, { state: "suspect" })], () => {});
  await clock.advance(1000);
  prober[Symbol.dispose]();
  expect(sent[0]).toBe("10.0.0.2 ping+suspect");
});

test("an answer over a stream only is an answer, and is reported", async () => {
  const { clock, prober, failed, found } = create([record(1), record(2)], () => {}, "answered");
  await clock.advance(2100);
  prober[Symbol.dispose]();
  expect(failed()).toEqual([]);
  expect(found[0]).toMatchObject({ kind: "stream", name: "n2" });
});

test.each([
  ["streams are switched off", {}, { streamProbes: false }],
  ["the member is too old to answer streams", { versions: Uint8Array.of(1, 2, 2, 0, 0, 0) }, {}],
])("no stream is tried where %s: a member that would answer one fails", async (_why, more, options) => {
  const { clock, prober, failed } = create([record(1), record(2, more)], () => {}, "answered", options);
  await clock.advance(2100);
  prober[Symbol.dispose]();
  expect(failed()[0]).toBe("n2");
});

/** n2 is gone; each other member says no, and `refuses` when it is asked to try a stream. */
const gone = (refuses: boolean) => (to: GossipAddress, message: PacketMessage, acks: Acks) => {
  if (to.host === "10.0.0.2") return;
  if (message.type === "ping") acks.ack(message.seqNo);
  if (message.type !== "indirectPing") return;
  acks.nack(message.seqNo, message.stream === true && refuses);
};

test("a member whose port refuses streams of two members is reported at once, not as failed, and it costs no health", async () => {
  const { clock, prober, awareness, found, failed } = create([record(1), record(2)], gone(true), "refused");
  prober[Symbol.dispose]();
  expect(found).toEqual([]);
  const two = create([record(1), record(2), record(3), record(4)], gone(true), "refused", { indirectChecks: 1 });
  while (two.found.length === 0) await two.clock.advance(100);
  two.prober[Symbol.dispose]();
  expect(two.found.map(({ kind, name }) => `${kind} ${name}`)).toContain("refused n2");
  expect([two.failed(), two.awareness.score, failed(), awareness.score, clock.pending]).toEqual([[], 0, [], 0, 0]);
});

test.each([
  ["only this member's stream is refused", false, {}],
  ["the proof is switched off", true, { crashProof: false }],
])("where %s there is no proof, but with every helper's no the probe ends early", async (_why, refuses, options) => {
  const nodes = [record(1), record(2), record(3), record(4)];
  const late = (to: GossipAddress, message: PacketMessage, acks: Acks) => {
    if (message.type === "indirectPing") clock.timer(200, () => gone(refuses)(to, message, acks));
    else gone(refuses)(to, message, acks);
  };
  const { clock, prober, table, found } = create(nodes, late, "refused", options);
  table.put(record(3, { state: "left" }));
  await clock.advance(4000);
  prober[Symbol.dispose]();
  expect(new Set(found.map(({ kind, name }) => `${kind} ${name}`))).toEqual(new Set(["failed n2"]));
});

test("where streams are refused although the member lives, that is no proof against it later", async () => {
  let answers = false;
  const late = (to: GossipAddress, message: PacketMessage, acks: Acks) => {
    if (!answers) return gone(true)(to, message, acks);
    if (message.type === "ping") clock.timer(700, () => acks.ack(message.seqNo));
  };
  const nodes = [record(1), record(2), record(3), record(4)];
  const { clock, prober, found } = create(nodes, late, "refused");
  const kindsOf2 = () => found.splice(0).flatMap(({ kind, name }) => (name === "n2" ? [kind] : []));
  answers = true;
  await clock.advance(10_000);
  expect(kindsOf2()).toEqual([]);
  answers = false;
  await clock.advance(10_000);
  expect(kindsOf2()).not.toContain("refused");
  await clock.advance(660_000);
  expect(kindsOf2()).toContain("refused");
  prober[Symbol.dispose]();
});

test("with nobody to ask a refused stream proves nothing, and the interval is waited for", async () => {
  const { clock, prober, found } = create([record(1), record(2)], () => {}, "refused");
  await clock.advance(2100);
  prober[Symbol.dispose]();
  expect(found[0]).toMatchObject({ kind: "failed", name: "n2", atMs: 1000 });
});

test("a member that another suspects is probed next, once; one that refuted in the meantime is not", async () => {
  const nodes = Array.from({ length: 7 }, (_, i) => record(i + 1));
  const { clock, prober, table, sent } = create(nodes, (_to, message, acks) => {
    if (message.type === "ping") acks.ack(message.seqNo);
  });
  await clock.advance(2500);
  const before = sent.length;
  table.put(record(5, { state: "suspect" }));
  table.put(record(6, { state: "suspect" }));
  prober.checkSuspect("n6");
  prober.checkSuspect("n5");
  prober.checkSuspect("n4");
  table.put(record(6));
  await clock.advance(1000);
  expect(sent.slice(before)).toEqual(["10.0.0.5 ping+suspect"]);
  prober[Symbol.dispose]();
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
  expect(failed()).toEqual([]);
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
    {
      ...{ clock, acks, node: () => undefined, source: () => source, streamPing: async () => "refused" as const },
      send: (to, [message]) => message && sent.push({ atMs: clock.monotonic(), to: to.host, message }),
    },
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

test.each([
  ["refused", true, "nack refused"],
  ["answered", true, "ack"],
  ["silent", true, "nack"],
  ["refused", false, "nack"],
] as const)("a helper that is asked to try a stream, which is %s (member known: %s), answers %s", async (answer, known, expected) => {
  const clock = new SimClock();
  const acks = new Acks(simRandom(1));
  const answers: string[] = [];
  let streams = 0;
  using helper = new ProbeHelper(
    { probeIntervalMs: 1000, probeTimeoutMs: 500 },
    {
      ...{ clock, acks, source: () => source, node: () => (known ? record(2) : record(2, { port: 1 })) },
      streamPing: async () => {
        streams++;
        return answer;
      },
      send: (to, [message]) => {
        if (to.host !== "10.0.0.9") return;
        answers.push(message?.type === "nack" && message.refused ? "nack refused" : (message?.type ?? ""));
      },
    },
  );
  const target = { target: Uint8Array.of(10, 0, 0, 2), port: 7946, node: "n2" };
  helper.serve({ type: "indirectPing", seqNo: 77, nack: true, stream: true, source, ...target }, { host: "10.0.0.9", port: 1 });
  await clock.advance(1000);
  expect([answers, streams, clock.pending]).toEqual([[expected], known ? 1 : 0, 0]);
});
