import fc from "fast-check";
import { expect, test } from "vitest";
import { CodedError, systemRandom } from "../../../src/base/index.ts";
import { makeCompounds, splitCompound } from "../../../src/gossip/codec/compound.ts";
import { compressMessage } from "../../../src/gossip/codec/compress.ts";
import { crc32 } from "../../../src/gossip/codec/crc32.ts";
import { decrypt, encrypt, encryptedBytes, encryptionOverheadBytes } from "../../../src/gossip/codec/encryption.ts";
import { packetOverheadBytes } from "../../../src/gossip/codec/envelope.ts";
import { labelHeader, stripLabel } from "../../../src/gossip/codec/label.ts";
import { lzwDecode, lzwEncode } from "../../../src/gossip/codec/lzw.ts";
import type { PacketMessage, PushPullMessage, StreamMessage } from "../../../src/gossip/codec/message.ts";
import { openPacket, sealPacket } from "../../../src/gossip/codec/packet.ts";
import { encodePacketMessage } from "../../../src/gossip/codec/packet-message.ts";
import { StreamReader, sealStream } from "../../../src/gossip/codec/stream.ts";
import { simRandom } from "../../support/sim-random.ts";

const random = simRandom(1);
const none = new Uint8Array();
const plain = { label: "", keys: [] };
const bare = { compress: false, crc: false };
const key = new Uint8Array(32).fill(3);
const suspect: PacketMessage = { type: "suspect", incarnation: 4, node: "n1", from: "n2" };
const suspectBytes = encodePacketMessage(suspect);

function codeOf(fn: () => unknown): string | undefined {
  try {
    fn();
  } catch (error) {
    return CodedError.is(error) ? error.code : String(error);
  }
  return undefined;
}

test("CRC-32 of the check string is the published one", () => {
  expect(crc32(Buffer.from("123456789"))).toBe(0xcbf43926);
});

test("LZW gives back what went in, over table resets", () => {
  const texts = [Buffer.alloc(0), Buffer.from("a"), Buffer.from("aaaaaaaa"), Buffer.from("TOBEORNOTTOBEORTOBEORNOT".repeat(2000))];
  const noise = systemRandom.bytes(60_000);
  for (const bytes of [...texts, noise]) expect(lzwDecode(lzwEncode(bytes), 1 << 20)).toEqual(Buffer.from(bytes));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3000 }), (bytes) => {
      expect(lzwDecode(lzwEncode(bytes), bytes.length)).toEqual(Buffer.from(bytes));
    }),
  );
});

test("LZW starts with a clear code and ends with an end code, bits from the least significant one", () => {
  // 256, 'a', 257 in nine bits each.
  expect(lzwEncode(Buffer.from("a")).toString("hex")).toBe("00c30404");
});

test("an expansion beyond the limit is an error, not an allocation", () => {
  expect(codeOf(() => lzwDecode(lzwEncode(Buffer.alloc(100_000)), 99_999))).toBe("protocol_error");
});

test("more than 255 messages make several compounds and all arrive", () => {
  const messages = Array.from({ length: 300 }, (_, i) => Buffer.from(`m${i}`));
  const compounds = makeCompounds(messages);
  expect(compounds).toHaveLength(2);
  expect(compounds.flatMap((each) => splitCompound(each.subarray(1)).parts.map(String))).toEqual(messages.map(String));
  expect(makeCompounds([Buffer.from("x")]).map(String)).toEqual(["x"]);
});

test("of a compound that is cut off the complete parts are delivered", () => {
  const compound = makeCompounds([suspectBytes, suspectBytes, suspectBytes])[0] as Uint8Array;
  const opened = openPacket(compound.subarray(0, compound.length - 3), plain);
  expect(opened.messages).toEqual([suspect, suspect]);
  expect(opened.problems.map(({ code }) => code)).toEqual(["protocol_error"]);
  expect(codeOf(() => splitCompound(Uint8Array.of(255, 0, 1)))).toBe("protocol_error");
});

const envelopes = [
  plain,
  { label: "blue", keys: [] },
  { label: "", keys: [new Uint8Array(16).fill(1)] },
  { label: "blue", keys: [new Uint8Array(24).fill(1), new Uint8Array(32).fill(2)] },
];

test.each(envelopes)("a packet with label and keys of %j survives every combination of layers", (envelope) => {
  for (const compress of [true, false]) {
    for (const crc of [true, false]) {
      const message = makeCompounds(Array.from({ length: 20 }, () => suspectBytes))[0] as Uint8Array;
      const packet = sealPacket(message, envelope, { compress, crc }, random);
      expect(packet.length).toBeLessThanOrEqual(message.length + packetOverheadBytes(envelope));
      expect(openPacket(packet, envelope)).toMatchObject({ messages: Array(20).fill(suspect), problems: [] });
    }
  }
});

test("any key of the ring decrypts, a strange one does not, and plaintext is refused where keys are set", () => {
  const old = new Uint8Array(16).fill(9);
  const packet = sealPacket(suspectBytes, { label: "", keys: [old] }, bare, random);
  expect(openPacket(packet, { label: "", keys: [key, old] }).messages).toEqual([suspect]);
  expect(codeOf(() => openPacket(packet, { label: "", keys: [key] }))).toBe("protocol_error");
  expect(codeOf(() => openPacket(suspectBytes, { label: "", keys: [key] }))).toBe("protocol_error");
});

test("ciphertext of format 1 is 29 bytes longer, of format 0 padded to whole blocks, and either is bound to its additional data", () => {
  for (const format of [0, 1] as const) {
    for (let length = 0; length < 40; length++) {
      const plaintext = new Uint8Array(length).fill(length);
      const sealed = encrypt(plaintext, key, Buffer.from("label"), random, format);
      expect(sealed[0]).toBe(format);
      expect(sealed.length).toBe(29 + (format === 0 ? (Math.floor(length / 16) + 1) * 16 : length));
      expect(sealed.length).toBe(encryptedBytes(length, format));
      expect(sealed.length).toBeLessThanOrEqual(length + encryptionOverheadBytes(format));
      expect(decrypt(sealed, [key], Buffer.from("label"))).toEqual(Buffer.from(plaintext));
      expect(codeOf(() => decrypt(sealed, [key], none))).toBe("protocol_error");
    }
  }
});

test("labels must be equal: another, a missing and an unexpected one are refused", () => {
  const packet = sealPacket(suspectBytes, { label: "blue", keys: [] }, bare, random);
  expect(openPacket(packet, { label: "blue", keys: [] }).messages).toEqual([suspect]);
  expect(codeOf(() => openPacket(packet, { label: "green", keys: [] }))).toBe("protocol_error");
  expect(codeOf(() => openPacket(packet, plain))).toBe("protocol_error");
  expect(codeOf(() => openPacket(suspectBytes, { label: "blue", keys: [] }))).toBe("protocol_error");
  expect(codeOf(() => stripLabel(Uint8Array.of(244, 0), ""))).toBe("protocol_error");
  expect(stripLabel(labelHeader("blue").subarray(0, 4), "blue")).toBeUndefined();
});

test("a packet with a wrong checksum is refused, and a checksum inside a compound is not understood", () => {
  const packet = sealPacket(suspectBytes, plain, { compress: false, crc: true }, random);
  const damaged = Uint8Array.from(packet);
  damaged[8] = (damaged[8] as number) ^ 1;
  expect(codeOf(() => openPacket(damaged, plain))).toBe("protocol_error");
  const inside = makeCompounds([packet, suspectBytes])[0] as Uint8Array;
  expect(openPacket(inside, plain)).toMatchObject({ messages: [suspect], problems: [expect.anything()] });
});

test("nesting beyond five layers is cut off", () => {
  let message: Uint8Array = suspectBytes;
  for (let i = 0; i < 5; i++) message = compressMessage(message);
  expect(openPacket(message, plain).messages).toEqual([suspect]);
  expect(openPacket(compressMessage(message), plain)).toMatchObject({ messages: [], problems: [expect.anything()] });
});

const pushPull: PushPullMessage = {
  type: "pushPull",
  join: true,
  nodes: Array.from({ length: 40 }, (_, i) => ({
    name: `node-${i}`,
    address: Uint8Array.of(10, 0, 0, i),
    port: 7946,
    meta: new Uint8Array(i),
    incarnation: i,
    state: (["alive", "suspect", "dead", "left"] as const)[i % 4] as "alive",
    versions: Uint8Array.of(1, 5, 2, 0, 0, 0),
  })),
  // Every byte, for a chunk may begin with any, also with one that means something at the start of a stream.
  userState: Uint8Array.from({ length: 300 }, (_, i) => i),
};
const streamMessages: StreamMessage[] = [
  pushPull,
  { type: "ping", seqNo: 1, node: "n", source: { address: none, port: 0, node: "" } },
  { type: "ack", seqNo: 2, payload: Uint8Array.of(1) },
  { type: "error", error: "no" },
  { type: "user", payload: new Uint8Array(100).fill(1) },
];

test.each(envelopes)("stream messages with label and keys of %j are read from chunks of any size", (envelope) => {
  for (const message of streamMessages) {
    for (const compress of [true, false]) {
      for (const dialled of [true, false]) {
        const bytes = sealStream(message, { ...envelope, compress, dialled }, random);
        for (const size of [1, 7, 1000, bytes.length]) {
          const reader = new StreamReader(envelope, !dialled);
          let read: StreamMessage | undefined;
          for (let at = 0; at < bytes.length; at += size) {
            expect(read).toBeUndefined();
            read = reader.push(bytes.subarray(at, at + size));
          }
          expect(read).toEqual(message);
        }
      }
    }
  }
});

test("lengths beyond the limits are refused before anything is allocated", () => {
  const push = (hex: string) => () => new StreamReader(plain, true).push(Buffer.from(hex, "hex"));
  // 2^31 nodes; 2^31 bytes of user state; a user message of 2^31 bytes; an HTTP request.
  expect(codeOf(push("0681a54e6f646573ce80000000"))).toBe("protocol_error");
  expect(codeOf(push("0681ac5573657253746174654c656ece80000000"))).toBe("protocol_error");
  expect(codeOf(push("0881aa557365724d73674c656ece80000000"))).toBe("protocol_error");
  expect(codeOf(push(Buffer.from("GET / HTTP/1.1\r\n").toString("hex")))).toBe("protocol_error");
  expect(codeOf(() => new StreamReader({ label: "", keys: [key] }, true).push(Buffer.from("0affffffff", "hex")))).toBe("protocol_error");
});
