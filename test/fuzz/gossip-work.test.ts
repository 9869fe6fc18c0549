import { afterAll, beforeAll, expect, test } from "vitest";
import { CodedError } from "../../src/base/index.ts";
import { makeCompounds } from "../../src/gossip/codec/compound.ts";
import { compressMessage } from "../../src/gossip/codec/compress.ts";
import { codecLimits } from "../../src/gossip/codec/limits.ts";
import { lzwDecode, lzwEncode } from "../../src/gossip/codec/lzw.ts";
import { openPacket } from "../../src/gossip/codec/packet.ts";
import { encodePacketMessage } from "../../src/gossip/codec/packet-message.ts";
import { StreamReader, sealStream } from "../../src/gossip/codec/stream.ts";
import { aliveMessage, remoteNode } from "../support/membership-state.ts";
import { simRandom } from "../support/sim-random.ts";
import { WorkCounter } from "../support/work-counter.ts";

const plain = { label: "", keys: [] };
const random = simRandom(1);
let counter: WorkCounter;
// Before anything is compiled: only what is compiled afterwards counts its blocks.
beforeAll(async () => {
  counter = await WorkCounter.start("/src/gossip/codec/");
});
afterAll(() => counter[Symbol.asyncDispose]());

const suspect = () => encodePacketMessage({ type: "suspect", incarnation: 1, node: "n1", from: "n2" });
const compound = (parts: Uint8Array[]) => makeCompounds(parts)[0] as Uint8Array;
const repeat = (count: number, part: Uint8Array) => Array.from({ length: count }, () => part);

function open(bytes: Uint8Array): void {
  openPacket(bytes, plain);
}

function read(bytes: Uint8Array, chunkBytes: number): void {
  const reader = new StreamReader(plain, true);
  try {
    for (let at = 0; at < bytes.length; at += chunkBytes) reader.push(bytes.subarray(at, at + chunkBytes));
  } catch (error) {
    if (!CodedError.is(error, "protocol_error")) throw error;
  }
}

const pushPull = (nodes: number) => {
  const message = { type: "pushPull" as const, join: false, nodes: repeatNode(nodes), userState: random.bytes(1000) };
  return sealStream(message, { ...plain, compress: false, dialled: false }, random);
};
const repeatNode = (count: number) => Array.from({ length: count }, (_, i) => remoteNode(`n${i}`, 1, "alive", i % 250));
const user = (sizeBytes: number, compress: boolean) => {
  return sealStream({ type: "user", payload: random.bytes(sizeBytes) }, { ...plain, compress, dialled: false }, random);
};

// What grows with `size`, and what is to be done with it.
const families: [name: string, size: number, make: (size: number) => Uint8Array, work: (bytes: Uint8Array) => void][] = [
  ["a compound of messages", 50, (size) => compound(repeat(size, suspect())), open],
  ["a compound of nothing", 50, (size) => compound(repeat(size, new Uint8Array())), open],
  ["compounds in compounds", 50, (size) => compound(repeat(size, compound(repeat(20, suspect())))), open],
  ["a compound of compressed messages", 50, (size) => compound(repeat(size, compressMessage(suspect()))), open],
  ["compressed zeros", 10_000, (size) => compressMessage(compound(repeat(1, Buffer.alloc(size, 8)))), open],
  [
    "a message with unknown fields",
    200,
    (size) => Buffer.concat([Buffer.of(3, 0xde, size >> 8, size & 255), Buffer.alloc(size * 2, 0xa0)]),
    open,
  ],
  [
    "a name given as a list",
    200,
    (size) => Buffer.concat([Buffer.of(4, 0x81, 0xa4), Buffer.from("Meta"), Buffer.of(0xdc, size >> 8, size & 255), Buffer.alloc(size)]),
    open,
  ],
  [
    "packed text",
    5000,
    (size) => lzwEncode(Buffer.from("to be or not to be ".repeat(size / 19))),
    (bytes) => void lzwDecode(bytes, 1 << 20),
  ],
  ["packed noise", 5000, (size) => lzwEncode(random.bytes(size)), (bytes) => void lzwDecode(bytes, 1 << 20)],
  ["a full exchange at once", 50, pushPull, (bytes) => read(bytes, bytes.length)],
  ["a full exchange byte by byte", 50, pushPull, (bytes) => read(bytes, 1)],
  ["a user message byte by byte", 1000, (size) => user(size, false), (bytes) => read(bytes, 1)],
  ["a compressed stream byte by byte", 1000, (size) => user(size, true), (bytes) => read(bytes, 1)],
];

test.each(families)("the work for %s grows with its size and not faster", async (_name, size, make, work) => {
  const [small, large] = [make(size), make(size * 4)];
  // What is compiled at first use is not part of it.
  work(small);
  const [one, four] = [await counter.count(() => work(small)), await counter.count(() => work(large))];
  expect(one).toBeGreaterThan(0);
  expect(four).toBeLessThan(5 * one);
});

/** As many of `part` as a datagram holds. */
const fill = (part: Uint8Array) => compound(repeat(Math.min(255, Math.floor(65_000 / (part.length + 2))), part));
const worst: [name: string, make: () => Uint8Array][] = [
  ["messages and nothing else", () => fill(encodePacketMessage({ type: "user", payload: random.bytes(250) }))],
  ["claims with a long metadata", () => fill(encodePacketMessage(aliveMessage("n1", 1, { meta: random.bytes(500) })))],
  ["compressed six times over", () => repeat(6, suspect()).reduce<Uint8Array>((bytes) => compressMessage(bytes), new Uint8Array(60_000))],
  ["parts that expand to a fifth of the limit", () => fill(compressMessage(new Uint8Array(200_000)))],
  ["parts that expand to a little less than half of the limit", () => fill(compressMessage(new Uint8Array(400_000)))],
  ["parts that expand beyond the limit", () => fill(compressMessage(new Uint8Array(1_100_000)))],
  ["one part that expands to the limit", () => compressMessage(new Uint8Array(1 << 20))],
  ["noise that was compressed", () => compressMessage(random.bytes(45_000))],
  ["compounds of nothing in compounds", () => fill(compound(repeat(255, new Uint8Array())))],
  ["compressed compounds of compounds of nothing", () => compressMessage(fill(compound(repeat(255, new Uint8Array()))))],
  ["lists in lists", () => Buffer.concat([Buffer.of(4), Buffer.alloc(65_000, 0x91)])],
  ["messages with 4,000 unknown fields", () => fill(Buffer.concat([Buffer.of(3, 0xde, 0x07, 0xd0), Buffer.alloc(4000, 0xa0)]))],
];

// B50
test.each(worst)("the work for one datagram is bounded, even for one of %s", async (_what, make) => {
  const bytes = make();
  expect(bytes.length).toBeLessThan(66_000);
  // The decoder of compressed bytes runs one block for each byte; a datagram may expand to a mebibyte, and once more in vain.
  expect(await counter.count(() => open(bytes))).toBeLessThan(3 * codecLimits.packetExpandedBytes);
});
