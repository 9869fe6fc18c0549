import { expect, test } from "vitest";
import { neverAborted } from "../../../src/base/index.ts";
import { type ClusterGuard, openClusterGuard } from "../../../src/gossip/cluster-guard.ts";
import type { PushNodeState, StreamMessage } from "../../../src/gossip/codec/message.ts";
import { StreamReader, sealStream } from "../../../src/gossip/codec/stream.ts";
import { gossipMetrics } from "../../../src/gossip/gossip-metrics.ts";
import { HookCalls } from "../../../src/gossip/hook-calls.ts";
import type { MemberHooks } from "../../../src/gossip/hooks.ts";
import { PushPull } from "../../../src/gossip/push-pull.ts";
import type { GossipStream, Transport } from "../../../src/gossip/transport.ts";
import { noMetrics, silentLogger } from "../../../src/observability/index.ts";
import { SimClock } from "../../support/sim-clock.ts";
import { simRandom } from "../../support/sim-random.ts";

const envelope = { label: "", keys: [] };
const random = simRandom(1);
const seal = (message: StreamMessage, compress = false) => sealStream(message, { ...envelope, compress, dialled: true }, random);
const question: StreamMessage = { type: "pushPull", join: false, nodes: [], userState: new Uint8Array() };

interface Given {
  guard?: ClusterGuard;
  hooks?: MemberHooks;
  transport?: Transport;
  localNodes?: () => PushNodeState[];
}

function create({ guard = openClusterGuard, hooks = {}, transport = {} as Transport, localNodes = () => [] }: Given = {}) {
  const clock = new SimClock();
  const merged: number[] = [];
  const soles: boolean[] = [];
  const dropped = new Map<string, number>();
  const metrics = gossipMetrics(noMetrics, { countByState: () => ({}), queueLength: () => 0, healthScore: () => 0 });
  const pushPull = new PushPull(
    { name: "n1", envelope, compress: false, streamTimeoutMs: 10_000, protocolVersion: 2 },
    {
      clock,
      random,
      hooks: new HookCalls(hooks, { clock, logger: silentLogger }),
      logger: silentLogger,
      transport,
      guard,
      metrics: {
        ...metrics,
        dropped: {
          add: (by = 1, labels = {}) => void dropped.set(String(labels["reason"]), (dropped.get(String(labels["reason"])) ?? 0) + by),
        },
      },
      localNodes,
      source: () => ({ address: new Uint8Array(), port: 0, node: "" }),
      pingNumber: () => 1,
      merge: (nodes: readonly PushNodeState[], isSole: boolean) => {
        merged.push(nodes.length);
        soles.push(isSole);
      },
      onUserMessage: () => {},
    },
  );
  return { clock, pushPull, merged, soles, dropped };
}

/** A stream that brings `chunks` and then nothing more, and the bytes that it was answered with. */
function streamOf(...chunks: Uint8Array[]): GossipStream & { answered: number; answer: Uint8Array; closed: boolean } {
  return {
    remote: { host: "10.0.0.2", port: 1 },
    answered: 0,
    answer: new Uint8Array(),
    closed: false,
    async write(bytes) {
      this.answered += bytes.length;
      this.answer = bytes;
    },
    read: (signal) => {
      const chunk = chunks.shift();
      if (chunk) return Promise.resolve(chunk);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    },
    close() {
      this.closed = true;
    },
  };
}

test("what all peers together may make this node hold is bounded, and is free again when they are done", async () => {
  const { clock, pushPull, dropped } = create();
  // Each says that 20 MiB of user state follow, sends 10 MiB of it, and waits.
  const begun = seal({ ...question, userState: new Uint8Array(20 << 20) }).subarray(0, 10 << 20);
  const slow = Array.from({ length: 10 }, () => streamOf(begun));
  const serving = slow.map((stream) => pushPull.serve(stream, neverAborted));
  await clock.advance(0);
  expect(slow.filter(({ closed }) => closed).length).toBe(4);
  expect(dropped.get("busy")).toBe(4);
  const patient = streamOf(seal(question));
  await pushPull.serve(patient, neverAborted);
  expect(patient.answered).toBeGreaterThan(0);
  await clock.advance(10_000);
  await Promise.all(serving);
  expect(slow.every(({ closed }) => closed)).toBe(true);
  const whole = streamOf(seal({ ...question, userState: new Uint8Array(20 << 20) }));
  await pushPull.serve(whole, neverAborted);
  expect(whole.answered).toBeGreaterThan(0);
});

test("small bytes that become much in memory count as what they become", async () => {
  const { clock, pushPull, dropped } = create();
  // 16,000 empty node states, and the last one missing.
  const head = seal({ ...question, nodes: [] }).subarray(0, 1);
  const header = Buffer.concat([
    Buffer.of(0x83),
    raw("Nodes"),
    Buffer.of(0xcd, 0x3e, 0x81),
    raw("UserStateLen"),
    Buffer.of(0),
    raw("Join"),
    Buffer.of(0xc2),
  ]);
  const states = Buffer.alloc(16_000, 0x80);
  const streams = Array.from({ length: 7 }, () => streamOf(Buffer.concat([head, header, states])));
  const serving = streams.map((stream) => pushPull.serve(stream, neverAborted));
  await clock.advance(0);
  expect(dropped.get("busy")).toBe(2);
  await clock.advance(10_000);
  await Promise.all(serving);
});

test("a peer of another cluster gets the guard's part of the user state, and of the application's nothing", async () => {
  const bytes = (text: string) => new Uint8Array(Buffer.from(text));
  const guard: ClusterGuard = {
    userState: () => bytes("blue"),
    acceptUserState: (state) => Buffer.from(state).toString() === "blue",
    acceptNode: () => true,
  };
  const { pushPull, merged } = create({ guard, hooks: { userState: () => bytes("secret") } });
  const answers: string[] = [];
  for (const state of ["\0\0\0\x05green", "\0\0\0\x04blue"]) {
    const stream = streamOf(seal({ ...question, userState: bytes(state) }));
    await pushPull.serve(stream, neverAborted);
    const answer = new StreamReader(envelope, true).push(stream.answer);
    answers.push(answer?.type === "pushPull" ? Buffer.from(answer.userState).toString() : "");
  }
  expect(answers).toEqual(["\0\0\0\x04blue", "\0\0\0\x04bluesecret"]);
  expect(merged).toHaveLength(1);
});

function raw(text: string): Buffer {
  return Buffer.concat([Buffer.of(0xa0 | text.length), Buffer.from(text)]);
}

test("a full exchange tells what is known once its stream stands, which may be long after it was begun", async () => {
  const node = { name: "n3", address: Uint8Array.of(10, 0, 0, 3), port: 1, meta: new Uint8Array(), versions: new Uint8Array() };
  const known: PushNodeState[] = [{ ...node, incarnation: 1, state: "alive" }];
  const stream = streamOf();
  const dial = async () => {
    known[0] = { ...node, incarnation: 1, state: "dead" };
    return stream;
  };
  const { clock, pushPull } = create({ transport: { dial } as unknown as Transport, localNodes: () => [...known] });
  const exchange = pushPull.synchronize({ host: "10.0.0.2", port: 1 }, true, neverAborted).catch(() => {});
  await clock.until(exchange);
  const told = new StreamReader(envelope, false).push(stream.answer);
  expect(told?.type === "pushPull" && told.nodes.map(({ state }) => state)).toEqual(["dead"]);
});

test("what is merged is known to be told to nobody else only while no other peer has the view and has not given its own", async () => {
  const { clock, pushPull, soles } = create();
  await pushPull.serve(streamOf(seal(question)), neverAborted);
  expect(soles).toEqual([true]);

  // The second peer has its answer, but this node does not get on yet.
  const slow = streamOf(seal(question));
  let answered = () => {};
  slow.write = () =>
    new Promise((resolve) => {
      answered = resolve;
    });
  const serving = pushPull.serve(slow, neverAborted);
  await clock.advance(0);
  await pushPull.serve(streamOf(seal(question)), neverAborted);
  expect(soles).toEqual([true, false]);
  answered();
  await serving;
  expect(soles).toEqual([true, false, true]);
});
