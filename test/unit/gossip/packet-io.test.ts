import { expect, test } from "vitest";
import { BroadcastQueue } from "../../../src/gossip/broadcast-queue.ts";
import { compressMessage } from "../../../src/gossip/codec/compress.ts";
import type { Envelope } from "../../../src/gossip/codec/envelope.ts";
import type { AliveMessage, PacketMessage, Source } from "../../../src/gossip/codec/message.ts";
import { openPacket, sealPacket } from "../../../src/gossip/codec/packet.ts";
import { encodePacketMessage } from "../../../src/gossip/codec/packet-message.ts";
import { gossipMetrics } from "../../../src/gossip/gossip-metrics.ts";
import { createKeyRing } from "../../../src/gossip/key-ring.ts";
import { PacketIo } from "../../../src/gossip/packet-io.ts";
import type { Transport } from "../../../src/gossip/transport.ts";
import { noMetrics, silentLogger } from "../../../src/observability/index.ts";
import { SimClock } from "../../support/sim-clock.ts";
import { simRandom } from "../../support/sim-random.ts";

const to = { host: "10.0.0.2", port: 7946 };
const plain: Envelope = { label: "", keys: [] };
const key = new Uint8Array(32).fill(1);
const modern = Uint8Array.of(1, 5, 2, 0, 0, 0);
const source: Source = { address: Uint8Array.of(10, 0, 0, 1), port: 7000, node: "n1" };
const ping: PacketMessage = { type: "ping", seqNo: 1, node: "n2", source };
const target = Uint8Array.of(10, 0, 0, 3);
const indirect: PacketMessage = { type: "indirectPing", seqNo: 1, target, port: 7946, node: "n3", nack: true, source };
const suspect: PacketMessage = { type: "suspect", incarnation: 1, node: "n2", from: "n1" };
const alive: AliveMessage = {
  type: "alive",
  incarnation: 1,
  node: "n3",
  address: target,
  port: 7946,
  meta: new Uint8Array(),
  versions: modern,
};

function create(envelope: Envelope, { protocolVersion = 2, packetBytes = 1400, compress = true } = {}) {
  const clock = new SimClock();
  const sent: Uint8Array[] = [];
  const dropped: string[] = [];
  const warned: string[] = [];
  const metrics = gossipMetrics(noMetrics, { countByState: () => ({}), queueLength: () => 0, healthScore: () => 0 });
  const queue = new BroadcastQueue({ retransmitMultiplier: 4, maxEntries: 100 });
  const io = new PacketIo(
    { envelope, compress, packetBytes, protocolVersion },
    {
      clock,
      logger: { ...silentLogger, warn: (message) => void warned.push(message) },
      random: simRandom(1),
      transport: {
        address: { host: "10.0.0.1", port: 7000 },
        sendPacket: (bytes: Uint8Array) => void sent.push(bytes),
      } as unknown as Transport,
      queue,
      metrics: { ...metrics, dropped: { add: (_by, labels) => void dropped.push(String(labels?.["reason"])) } },
      clusterSize: () => 10,
    },
  );
  return { io, queue, sent, dropped, warned };
}

test.each<[string, PacketMessage[], boolean]>([
  ["a ping", [ping], false],
  ["an indirect ping", [indirect], false],
  ["an acknowledgement", [{ type: "ack", seqNo: 1, payload: null }], false],
  ["a negative answer", [{ type: "nack", seqNo: 1 }], false],
  ["a ping with the suspicion that it is about", [ping, suspect], true],
  ["a user message", [{ type: "user", payload: Uint8Array.of(1) }], true],
])("%s has a checksum only where peers give it one", (_what, messages, expected) => {
  const { io, sent } = create(plain);
  io.send(to, messages, modern);
  io.send(to, messages, Uint8Array.of(1, 4, 2, 0, 0, 0));
  io.send(to, messages);
  expect(sent.map((packet) => packet[0] === 12)).toEqual([expected, false, false]);
});

test("gossip has a checksum, and a ping that carries some has none", () => {
  const { io, queue, sent } = create(plain);
  queue.queueSystem("n3", encodePacketMessage(alive));
  io.send(to, [], modern);
  io.send(to, [ping], modern);
  expect(sent.map((packet) => packet[0])).toEqual([12, 7]);
});

test("a packet never grows by compression", () => {
  const { io, sent } = create(plain);
  const { io: without, sent: asItIs } = create(plain, { compress: false });
  for (const size of [1, 20, 40, 60, 80, 100, 140, 200, 400, 1200]) {
    const payload = simRandom(size).bytes(size);
    for (const each of [io, without]) each.send(to, [{ type: "user", payload }]);
    for (const each of [io, without]) each.send(to, [{ type: "user", payload: new Uint8Array(size) }]);
  }
  for (const [index, packet] of sent.entries()) expect(packet.length).toBeLessThanOrEqual((asItIs[index] as Uint8Array).length);
  expect(sent.at(-1)?.length).toBeLessThan(200);
});

test("all claims about members are as small as Go makes them, where Go would compress them too", () => {
  const messages = [alive, suspect, { ...alive, meta: Buffer.from("zone=a,".repeat(30)) }];
  for (const count of [1, 2, 4, 8, 16]) {
    const { io, sent } = create(plain);
    for (const message of messages) io.send(to, Array<PacketMessage>(count).fill(message));
    const { io: without, sent: asItIs } = create(plain, { compress: false });
    for (const message of messages) without.send(to, Array<PacketMessage>(count).fill(message));
    sent.forEach((packet, index) => {
      const bare = asItIs[index] as Uint8Array;
      expect(packet.length).toBe(Math.min(bare.length, compressMessage(bare).length));
    });
  }
});

test.each<[string, Envelope]>([
  ["plain", plain],
  ["labelled", { label: "blue".repeat(20), keys: [] }],
  ["encrypted", { label: "", keys: [key] }],
  ["padded and labelled", { label: "blue", keys: [key], encryptionFormat: 0 }],
])("a packet full of gossip is no longer than it may be: %s", (_what, envelope) => {
  const { io, queue, sent } = create(envelope, { compress: false, packetBytes: 600 });
  for (let i = 0; i < 60; i++) queue.queueSystem(`m${i}`, encodePacketMessage({ ...alive, node: `m${i}` }));
  for (let i = 0; i < 20; i++) io.send(to, [ping, suspect], modern);
  expect(Math.max(...sent.map(({ length }) => length))).toBeLessThanOrEqual(600);
  expect(sent[0]?.length).toBeGreaterThan(500);
});

test("what a key takes of a packet is known as soon as it is in the ring", () => {
  const ring = createKeyRing();
  const envelope: Envelope = {
    label: "",
    get keys() {
      return ring.list();
    },
  };
  const { io, sent } = create(envelope, { compress: false, packetBytes: 600 });
  const most = (io: PacketIo) => {
    for (let size = 600; ; size--) {
      try {
        io.sendUser(to, new Uint8Array(size), modern);
        return size;
      } catch (error) {
        expect(error).toMatchObject({ code: "limit_exceeded" });
      }
    }
  };
  const before = most(io);
  ring.add(key);
  expect(before - most(io)).toBe(29);
  expect(sent.every(({ length }) => length <= 600)).toBe(true);
});

test("a claim or a request without a port is about the port that this member has itself", () => {
  const { io } = create(plain);
  const open = (message: PacketMessage) => io.open(encodePacketMessage(message), to)[0];
  expect(open({ ...alive, port: 0 })).toEqual({ ...alive, port: 7000 });
  expect(open({ ...indirect, port: 0 })).toEqual({ ...indirect, port: 7000 });
  expect(open(alive)).toEqual(alive);
});

test("in protocol version 1 every claim and request is about the port that this member has itself", () => {
  const { io } = create(plain, { protocolVersion: 1 });
  const open = (message: PacketMessage) => io.open(encodePacketMessage(message), to)[0];
  expect(open(alive)).toEqual({ ...alive, port: 7000 });
  expect(open(indirect)).toEqual({ ...indirect, port: 7000 });
  expect(open(ping)).toEqual(ping);
});

test("what no key decrypts is counted each time and warned about once a minute", () => {
  const { io, dropped, warned } = create({ label: "", keys: [key] });
  const foreign = sealPacket(
    encodePacketMessage(ping),
    { label: "", keys: [new Uint8Array(16)] },
    { compress: false, crc: false },
    simRandom(1),
  );
  for (let i = 0; i < 5; i++) expect(io.open(foreign, to)).toEqual([]);
  expect(io.open(encodePacketMessage(ping), to)).toEqual([]);
  expect(dropped).toEqual(Array(6).fill("decrypt"));
  expect(warned).toEqual([expect.stringMatching(/^key mismatch/)]);
});

test("plaintext is read where it is not refused, and sent where encryption is off, beside what a key decrypts", () => {
  const lenient: Envelope = { label: "", keys: [key], verifyIncoming: false };
  const { io, sent } = create(lenient);
  io.send(to, [ping]);
  expect(openPacket(sent[0] as Uint8Array, { label: "", keys: [key] }).messages).toEqual([ping]);
  expect(io.open(encodePacketMessage(ping), to)).toEqual([ping]);
  expect(io.open(sent[0] as Uint8Array, to)).toEqual([ping]);
  const off = create({ ...lenient, verifyOutgoing: false });
  off.io.send(to, [ping]);
  expect(openPacket(off.sent[0] as Uint8Array, plain).messages).toEqual([ping]);
});

test("a datagram of another protocol is counted, and not taken for a wrong key", () => {
  for (const verifyIncoming of [true, false]) {
    const { io, dropped, warned } = create({ label: "", keys: [new Uint8Array(16)], verifyIncoming });
    expect(io.open(Buffer.from("M-SEARCH * HTTP/1.1\r\n\r\n"), { host: "10.0.0.9", port: 1900 })).toEqual([]);
    expect([dropped, warned]).toEqual([["foreign"], []]);
  }
});
