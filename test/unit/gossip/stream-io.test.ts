import { expect, test } from "vitest";
import { neverAborted } from "../../../src/base/index.ts";
import { compressMessage } from "../../../src/gossip/codec/compress.ts";
import { encrypt, encryptedBytes } from "../../../src/gossip/codec/encryption.ts";
import type { Envelope } from "../../../src/gossip/codec/envelope.ts";
import type { StreamMessage } from "../../../src/gossip/codec/message.ts";
import { StreamReader, sealStream } from "../../../src/gossip/codec/stream.ts";
import { gossipMetrics } from "../../../src/gossip/gossip-metrics.ts";
import { LimitedWarnings } from "../../../src/gossip/limited-warnings.ts";
import { StreamIo } from "../../../src/gossip/stream-io.ts";
import type { GossipStream, Transport } from "../../../src/gossip/transport.ts";
import { noMetrics, silentLogger } from "../../../src/observability/index.ts";
import { SimClock } from "../../support/sim-clock.ts";
import { simRandom } from "../../support/sim-random.ts";

const random = simRandom(1);
const plain: Envelope = { label: "", keys: [] };
const k1: Envelope = { label: "", keys: [new Uint8Array(32).fill(1)] };
const k2: Envelope = { label: "", keys: [new Uint8Array(32).fill(2)] };
const both: Envelope = { label: "", keys: [...k1.keys, ...k2.keys] };
const blue: Envelope = { label: "blue", keys: [] };
const to = { host: "10.0.0.2", port: 7946 };
const ping: StreamMessage = { type: "ping", seqNo: 7, node: "n1", source: { address: new Uint8Array(), port: 0, node: "" } };
const pong: StreamMessage = { type: "ack", seqNo: 7, payload: null };

const seal = (message: StreamMessage, envelope: Envelope, dialled = true) =>
  Buffer.from(sealStream(message, { ...envelope, compress: false, dialled }, random));

/** An encrypted frame of any bytes. */
function sealBytes(message: Uint8Array, { keys }: Envelope): Buffer {
  const head = Buffer.of(10, 0, 0, 0, encryptedBytes(message.length, 1));
  return Buffer.concat([head, encrypt(message, keys[0] as Uint8Array, head, random, 1)]);
}

/** A stream that brings `chunks` and then its end, and keeps what is written. */
function streamOf(...chunks: Uint8Array[]): GossipStream & { readonly written: Uint8Array[]; closed: boolean } {
  const written: Uint8Array[] = [];
  return {
    remote: to,
    written,
    closed: false,
    write: async (bytes) => void written.push(bytes),
    read: async () => chunks.shift(),
    close() {
      this.closed = true;
    },
  };
}

function create(envelope: Envelope, dialled?: GossipStream) {
  const clock = new SimClock();
  const dropped: string[] = [];
  const warned: string[] = [];
  const metrics = gossipMetrics(noMetrics, { countByState: () => ({}), queueLength: () => 0, healthScore: () => 0 });
  const logger = { ...silentLogger, warn: (message: string) => void warned.push(message) };
  const io = new StreamIo(
    { envelope, compress: false, streamTimeoutMs: 1000 },
    {
      clock,
      random,
      transport: { dial: async () => dialled } as unknown as Transport,
      metrics: { ...metrics, dropped: { add: (_by, labels) => void dropped.push(String(labels?.["reason"])) } },
      warnings: new LimitedWarnings({ clock, logger }),
    },
  );
  return { io, dropped, warned };
}

/** What a peer that sends `bytes` to a member with `envelope` is answered, and what the member counts. */
async function serve(envelope: Envelope, ...chunks: Uint8Array[]) {
  const { io, dropped, warned } = create(envelope);
  const stream = streamOf(...chunks);
  await io.serve(stream, neverAborted, (_message, reply) => reply(pong));
  expect(stream.closed).toBe(true);
  return { answers: stream.written, dropped, warned };
}

const read = (bytes: Uint8Array | undefined, envelope: Envelope) => new StreamReader(envelope, true).push(bytes as Uint8Array);

test.each<[string, Envelope, Buffer]>([
  ["in plaintext, where a key is asked for", k1, seal(ping, plain)],
  ["encrypted, where there is no key", plain, seal(ping, k1)],
  ["encrypted with another key", k1, seal(ping, k2)],
  ["cut inside of the encrypted bytes", k1, Buffer.concat([Buffer.of(10, 0, 0, 0, 5), Buffer.alloc(5)])],
  ["longer than a frame may be", k1, Buffer.of(10, 0xff, 0xff, 0xff, 0xff)],
  ["compressed in an unknown way", plain, Buffer.from("0982a4416c676f07a3427566a0", "hex")],
  ["compressed and damaged", plain, Buffer.concat([compressMessage(new Uint8Array(9)).subarray(0, 12), Buffer.of(0xa1, 0)])],
  ["compressed to nothing", plain, compressMessage(new Uint8Array())],
])("a frame that is %s is answered with an error that the member's own key encrypts", async (_what, envelope, bytes) => {
  const { answers, dropped } = await serve(envelope, bytes);
  expect(answers).toHaveLength(1);
  expect(answers[0]?.[0]).toBe(envelope.keys.length > 0 ? 10 : 13);
  expect(read(answers[0], envelope)).toEqual({ type: "error", error: expect.stringMatching(/^[a-z ,]{10,60}$/) });
  expect(dropped).toHaveLength(1);
});

test.each<[string, Envelope, Buffer[]]>([
  ["of an unknown type", plain, [Buffer.of(99, 1, 2)]],
  ["with a damaged body", plain, [Buffer.of(0, 0xc1)]],
  ["with a damaged body inside of a good frame", k1, [sealBytes(Buffer.of(0, 0xc1), k1)]],
  ["with another label", blue, [seal(ping, { label: "green", keys: [] })]],
  ["without a label", blue, [seal(ping, plain)]],
  ["with a label that nobody expects", plain, [seal(ping, blue)]],
  ["that ends inside of its frame", k1, [seal(ping, k1).subarray(0, 20)]],
  ["that is empty", plain, []],
])("a stream %s gets no error frame", async (_what, envelope, chunks) => {
  const { answers } = await serve(envelope, ...chunks);
  expect(answers).toEqual([]);
});

test("a message that is read is answered, whichever key of the ring it came with, with the key that sends", async () => {
  const { answers, dropped } = await serve(both, seal(ping, k2));
  expect(read(answers[0], k1)).toEqual(pong);
  expect(dropped).toEqual([]);
});

test("plaintext is read where it is not refused, and the answer is encrypted where that is not off", async () => {
  const lenient = { ...k1, verifyIncoming: false };
  expect(read((await serve(lenient, seal(ping, plain))).answers[0], k1)).toEqual(pong);
  expect(read((await serve(lenient, seal(ping, k1))).answers[0], k1)).toEqual(pong);
  const plainSender = { ...lenient, verifyOutgoing: false };
  expect(read((await serve(plainSender, seal(ping, k1))).answers[0], plain)).toEqual(pong);
});

test("a wrong key is warned about once, and counted each time", async () => {
  const { io, dropped, warned } = create(k1);
  for (let i = 0; i < 5; i++) await io.serve(streamOf(seal(ping, k2)), neverAborted, async () => {});
  expect(dropped).toEqual(Array(5).fill("decrypt"));
  expect(warned).toEqual([expect.stringMatching(/^key mismatch/)]);
});

async function ask(envelope: Envelope, answer: Uint8Array): Promise<unknown> {
  const stream = streamOf(answer);
  const outcome = await create(envelope, stream)
    .io.ask(to, ping, neverAborted)
    .catch((error: unknown) => error);
  expect(stream.closed).toBe(true);
  return outcome;
}

const refusal: StreamMessage = { type: "error", error: "no installed keys could decrypt the message" };
const mismatch = { code: "cluster_mismatch", fields: { ...to, reason: "key" } };

test.each<[string, Envelope, Buffer]>([
  ["encrypted with another key", k1, seal(pong, k2, false)],
  ["encrypted, where there is no key", plain, seal(refusal, k1, false)],
  ["in plaintext, where a key is asked for", k1, seal(refusal, plain, false)],
])("an answer %s is a key mismatch", async (_what, envelope, answer) => {
  expect(await ask(envelope, answer)).toMatchObject(mismatch);
});

test("a peer that cannot read this member's key, but can be read, is a key mismatch with its own words", async () => {
  expect(await ask(both, seal(refusal, k2, false))).toMatchObject({
    ...mismatch,
    fields: { ...mismatch.fields, peerError: refusal.error },
  });
});

test("an error of a peer without keys is a typed error with its words, cut to a length that logs can bear", async () => {
  const failed = { code: "protocol_error", fields: { ...to, peerError: refusal.error } };
  expect(await ask(plain, seal(refusal, plain, false))).toMatchObject(failed);
  const long = await ask(plain, seal({ type: "error", error: `é${"x".repeat(100_000)}` }, plain, false));
  expect(long).toMatchObject({ fields: { peerError: `é${"x".repeat(1022)}` } });
});

test("a user message is sent without waiting for an answer", async () => {
  const stream = streamOf();
  const payload = new Uint8Array(5000).fill(7);
  await create(blue, stream).io.tell(to, { type: "user", payload }, neverAborted);
  expect(stream.closed).toBe(true);
  expect(new StreamReader(blue, false).push(stream.written[0] as Uint8Array)).toEqual({ type: "user", payload });
});

test.each([
  ["HTTP", "GET /metrics HTTP/1.1\r\n\r\n"],
  ["TLS", "\x16\x03\x01\x02\0"],
])("%s that strays here is counted, and neither answered nor taken for a wrong key", async (_what, text) => {
  for (const envelope of [plain, k1]) {
    expect(await serve(envelope, Buffer.from(text, "latin1"))).toEqual({ answers: [], dropped: ["foreign"], warned: [] });
  }
});
