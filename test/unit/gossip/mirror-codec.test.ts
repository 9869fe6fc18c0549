import { expect, test } from "vitest";
import { CodedError } from "../../../src/base/index.ts";
import { makeCompounds, splitCompound } from "../../../src/gossip/codec/compound.ts";
import { compressMessage, expandMessage } from "../../../src/gossip/codec/compress.ts";
import { crc32 } from "../../../src/gossip/codec/crc32.ts";
import { decrypt, encrypt } from "../../../src/gossip/codec/encryption.ts";
import { labelHeader, stripLabel } from "../../../src/gossip/codec/label.ts";
import { codecLimits } from "../../../src/gossip/codec/limits.ts";
import { messageType, type PacketMessage, type StreamMessage } from "../../../src/gossip/codec/message.ts";
import { openPacket } from "../../../src/gossip/codec/packet.ts";
import { decodePacketMessage, encodePacketMessage } from "../../../src/gossip/codec/packet-message.ts";
import { StreamReader, sealStream } from "../../../src/gossip/codec/stream.ts";
import { simRandom } from "../../support/sim-random.ts";

const random = simRandom(1);
const none = new Uint8Array();
const plain = { label: "", keys: [] };
const ping: PacketMessage = { type: "ping", seqNo: 100, node: "n1", source: { address: none, port: 0, node: "" } };
const pingBytes = encodePacketMessage(ping);
const bytes = (...parts: (number | string)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === "number" ? Buffer.of(part) : Buffer.from(part))));

/** The value, or the message of the protocol error that came instead. */
function outcome<T>(fn: () => T): T | string {
  try {
    return fn();
  } catch (error) {
    if (CodedError.is(error, "protocol_error")) return error.message;
    throw error;
  }
}

// TestEncodeDecode
test("a ping that names no source comes back as it went out", () => {
  expect(pingBytes[0]).toBe(messageType.ping);
  expect(decodePacketMessage(pingBytes)).toEqual(ping);
});

// TestMakeCompoundMessage, TestDecodeCompoundMessage
test("a compound costs two bytes and two for each message, and gives back the same messages", () => {
  const [compound = none] = makeCompounds([pingBytes, pingBytes, pingBytes]);
  expect(compound.length).toBe(2 + 3 * (2 + pingBytes.length));
  const { parts, truncated } = splitCompound(compound.subarray(1));
  expect(truncated).toBe(0);
  expect(parts.map((part) => Buffer.from(part))).toEqual([pingBytes, pingBytes, pingBytes]);
});

// TestDecodeCompoundMessage_NumberOfPartsOverflow
test("a compound that claims more parts than it has lengths for is refused whole", () => {
  const [compound = none] = makeCompounds([pingBytes, pingBytes, pingBytes]);
  const lying = Uint8Array.from(compound.subarray(1, 4));
  lying[0] = 20;
  expect(outcome(() => splitCompound(lying))).toBe("a compound has too few lengths");
});

// TestDecodeCompoundMessage_Trunc
test("of a compound whose last part is cut off the others are read and one is counted as lost", () => {
  const [compound = none] = makeCompounds([pingBytes, pingBytes, pingBytes]);
  const { parts, truncated } = splitCompound(compound.subarray(1, compound.length - 15));
  expect([parts.length, truncated]).toEqual([2, 1]);
  expect(parts.every((part) => pingBytes.equals(part))).toBe(true);
});

// TestCompressDecompressPayload
test("a compressed message is wrapped under its own type and comes back as it went in", () => {
  const compressed = compressMessage(Buffer.from("testing"));
  expect(compressed[0]).toBe(messageType.compress);
  expect(expandMessage(compressed.subarray(1), 100).toString()).toBe("testing");
});

// TestDecompressPayload_Limit
test("a compressed message may expand to its limit and not a byte further; a stream frame beyond what the wire may carry", () => {
  const expand = (sizeBytes: number) => outcome(() => expandMessage(compressMessage(Buffer.alloc(sizeBytes)).subarray(1), 100_000).length);
  expect(expand(100_000)).toBe(100_000);
  expect(expand(100_001)).toBe("compressed data expands too far");
  const large = sealStream(
    { type: "user", payload: new Uint8Array(codecLimits.streamBytes) },
    { ...plain, compress: true, dialled: true },
    random,
  );
  expect(large.length).toBeLessThan(codecLimits.streamBytes / 100);
  expect(new StreamReader(plain, false).push(large)).toMatchObject({ type: "user" });
  expect(codecLimits.streamExpandedBytes).toBe(2 * codecLimits.streamBytes);
});

// TestRawSendUdp_CRC, TestIngestPacket_CRC
test("a checksum stands in front of what it covers, and whatever bit is flipped the packet is dropped", () => {
  const head = Buffer.alloc(5);
  head[0] = messageType.crc;
  head.writeUInt32BE(crc32(pingBytes), 1);
  const packet = Buffer.concat([head, pingBytes]);
  expect(openPacket(packet, plain).messages).toEqual([ping]);
  for (let bit = 8; bit < packet.length * 8; bit++) {
    const flipped = Buffer.from(packet);
    flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
    expect(outcome(() => openPacket(flipped, plain))).toBe("a checksum is wrong");
  }
});

// TestIngestPacket_ExportedFunc_EmptyMessage, TestHandleCommand
test("nothing, at the outside or inside of any layer, is an error and no message", () => {
  expect(outcome(() => openPacket(none, plain))).toBe("a packet is empty");
  expect(outcome(() => openPacket(labelHeader("x"), { label: "x", keys: [] }))).toBe("a packet is empty");
  expect(outcome(() => decodePacketMessage(none))).toBe("a message is empty");
  const insides = [makeCompounds([none, none])[0] as Uint8Array, compressMessage(none), bytes(12, 0, 0, 0, 0)];
  for (const packet of insides) {
    const { messages, problems } = openPacket(packet, plain);
    expect(messages).toEqual([]);
    expect(problems.length).toBeGreaterThan(0);
  }
});

const longLabel = "a".repeat(255);

// TestAddLabelHeaderToPacket, TestAddLabelHeaderToStream, TestLabelOverhead
test.each([
  ["", Buffer.alloc(0)],
  ["foo", bytes(244, 3, "foo")],
  [longLabel, bytes(244, 255, longLabel)],
])("the header of the label %j is its type, its length and its bytes", (label, header) => {
  expect(labelHeader(label)).toEqual(header);
  const stream = sealStream({ type: "error", error: "x" }, { label, keys: [], compress: false, dialled: true }, random);
  expect(Buffer.from(stream.subarray(0, header.length))).toEqual(header);
  expect(stream[header.length]).toBe(messageType.error);
});

// TestRemoveLabelHeaderFromPacket
test.each([
  ["a ping without a label", bytes(0, "blah"), "", bytes(0, "blah")],
  ["the last message type without a label", bytes(13, "blah"), "", bytes(13, "blah")],
  ["ciphertext without a label", bytes(1, "blah"), "", bytes(1, "blah")],
  ["a ping with the label", bytes(244, 3, "abc", 0, "blah"), "abc", bytes(0, "blah")],
  ["ciphertext with the label", bytes(244, 3, "abc", 1, "blah"), "abc", bytes(1, "blah")],
  ["a label of 255 bytes", bytes(244, 255, longLabel, "x"), longLabel, bytes("x")],
  ["nothing", none, "", undefined],
  ["a header without a length", bytes(244), "abc", undefined],
  ["a header that is cut off", bytes(244, 3, "ab"), "abc", undefined],
  ["an empty label", bytes(244, 0, "x"), "", "the label is empty"],
  ["another label", bytes(244, 3, "abd"), "abc", "another label"],
  ["a label that begins like this one", bytes(244, 2, "ab", 0), "abc", "another label"],
  ["a label where none is expected", bytes(244, 3, "abc", 0), "", "another label"],
  ["no label where one is expected", bytes(0, "blah"), "abc", "the label is missing"],
])("of %s the label is taken off as it should be", (_what, packet, label, expected) => {
  const stripped = outcome(() => stripLabel(packet, label));
  expect(stripped instanceof Uint8Array ? Buffer.from(stripped) : stripped).toEqual(expected);
});

// TestRemoveLabelHeaderFromStream
test("the label of a stream is read from pieces of one byte, and one that is cut off is waited for", () => {
  const whole = sealStream({ type: "user", payload: bytes("hello") }, { label: "abc", keys: [], compress: false, dialled: true }, random);
  const reader = new StreamReader({ label: "abc", keys: [] }, false);
  const read = [...whole].map((byte) => reader.push(Uint8Array.of(byte)));
  expect(read.slice(0, -1).every((message) => message === undefined)).toBe(true);
  expect(read.at(-1)).toEqual({ type: "user", payload: new Uint8Array(bytes("hello")) });
  const push = (piece: Uint8Array) => outcome(() => new StreamReader({ label: "abc", keys: [] }, false).push(piece));
  expect(push(bytes(244, 3, "ab"))).toBeUndefined();
  expect(push(bytes(244, 0))).toBe("the label is empty");
  expect(push(bytes(244, 3, "xyz"))).toBe("another label");
});

const key = Uint8Array.from({ length: 16 }, (_, i) => i);
const keys = [key, key.toReversed(), Uint8Array.from(key, (byte) => (byte + 8) % 16)];

/** As {@link encrypt} in format 0 does with a plaintext whose last bytes are `padding`. */
function format0(padded: Uint8Array): Buffer {
  const sealed = encrypt(padded, key, none, random, 1);
  sealed[0] = 0;
  return sealed;
}

// TestPKCS7, TestEncryptDecrypt_V0, TestEncryptDecrypt_V1
test("format 0 pads every length from 0 to 255 to whole blocks, format 1 none, and both come back", () => {
  for (let length = 0; length <= 255; length++) {
    const plaintext = random.bytes(length);
    const additional = bytes("random data");
    const padding = 16 - (length % 16);
    const old = encrypt(plaintext, key, additional, random, 0);
    const current = encrypt(plaintext, key, additional, random, 1);
    expect([old.length, current.length]).toEqual([length + padding + 29, length + 29]);
    for (const sealed of [old, current]) expect(decrypt(sealed, [key], additional)).toEqual(Buffer.from(plaintext));
  }
});

// TestPKCS7
test.each([
  ["zero", [0]],
  ["more than a block", [17]],
  ["255", [255]],
])("a padding of %s is refused although the tag is right", (_what, last) => {
  const padded = Uint8Array.of(...new Array<number>(15).fill(0), ...last);
  expect(outcome(() => decrypt(format0(padded), [key], none))).toBe("wrong padding");
});

test("ciphertext of an unknown format, or shorter than an empty message makes it, is refused", () => {
  const sealed = encrypt(none, key, none, random, 1);
  expect(outcome(() => decrypt(Uint8Array.of(2, ...sealed.subarray(1)), [key], none))).toBe("an unknown encryption version");
  expect(outcome(() => decrypt(sealed.subarray(0, 28), [key], none))).toBe("an encrypted message is too short");
  expect(outcome(() => decrypt(Uint8Array.of(0, ...new Uint8Array(43)), [key], none))).toBe("an encrypted message is too short");
});

// TestKeyRing_MultiKeyEncryptDecrypt
test("what any key of the ring encrypted is decrypted, whatever its place, and no more once the key is removed", () => {
  const plaintext = bytes("this is a plain text message");
  for (const each of keys) expect(decrypt(encrypt(plaintext, each, none, random, 1), keys, none)).toEqual(plaintext);
  const [first = none, second = none, third = none] = keys;
  const sealed = encrypt(plaintext, third, none, random, 1);
  expect(outcome(() => decrypt(sealed, [first, second], none))).toBe("no key decrypts the message");
});

// TestEncryptDecryptState
test("an encrypted stream frame is its type, its length and the ciphertext, bound to that head and to the label", () => {
  const envelope = { label: "abc", keys: [key] };
  const message: StreamMessage = { type: "user", payload: bytes("state") };
  const frame = Buffer.from(sealStream(message, { ...envelope, compress: false, dialled: false }, random));
  expect([frame[0], frame.readUInt32BE(1)]).toEqual([messageType.encrypt, frame.length - 5]);
  expect(new StreamReader(envelope, true).push(frame)).toMatchObject({ type: "user" });
  for (const other of [
    { label: "abd", keys: [key] },
    { label: "", keys: [key] },
  ]) {
    expect(outcome(() => new StreamReader(other, true).push(frame))).toBe("no key decrypts the message");
  }
});

// TestReadRemoteState_Limits, TestReadUserMsg_Limit
test("lengths at the limit are waited for, one more is an error", () => {
  const header = (name: string, value: number) => {
    const tail = Buffer.alloc(5);
    tail[0] = 0xce;
    tail.writeUInt32BE(value, 1);
    return Buffer.concat([bytes(0x81, 0xa0 | name.length, name), tail]);
  };
  const push = (type: number, name: string, value: number) =>
    outcome(() => new StreamReader(plain, true).push(Buffer.concat([Buffer.of(type), header(name, value), bytes(0)])));
  const limits = [
    [messageType.pushPull, "UserStateLen", codecLimits.streamBytes],
    [messageType.user, "UserMsgLen", codecLimits.streamBytes],
  ] as const;
  for (const [type, name, limit] of limits) {
    expect(push(type, name, limit)).toBeUndefined();
    expect(push(type, name, limit + 1)).toBe("a field is not an integer of its range");
  }
  const nodes = (value: number) =>
    outcome(() => new StreamReader(plain, true).push(Buffer.concat([Buffer.of(messageType.pushPull), header("Nodes", value)])));
  expect(nodes(codecLimits.nodesPerPushPull)).toBeUndefined();
  expect(nodes(codecLimits.nodesPerPushPull + 1)).toBe("a field is not an integer of its range");
});

test.each([7, 8, 9, 10, 12, 13, 244])("a user state that begins with the byte %i is data, however the stream is cut", (first) => {
  const userState = Uint8Array.of(first, 0, 1, 2);
  const node = {
    name: "n2",
    address: Uint8Array.of(10, 0, 0, 2),
    port: 1,
    meta: none,
    incarnation: 1,
    state: "alive",
    versions: none,
  } as const;
  for (const nodes of [[], [node]]) {
    const stream = sealStream({ type: "pushPull", join: false, nodes, userState }, { ...plain, compress: false, dialled: true }, random);
    for (let size = 1; size <= stream.length; size++) {
      const reader = new StreamReader(plain, false);
      let read: StreamMessage | undefined;
      for (let at = 0; at < stream.length; at += size) read = reader.push(stream.subarray(at, at + size));
      expect(read).toMatchObject({ type: "pushPull", userState });
    }
  }
});

test("a name that is not UTF-8, or longer than names may be, is an error and nothing is put in its place", () => {
  const suspectOf = (name: Buffer) => Buffer.concat([bytes(3, 0x81, 0xa4, "Node", 0xda, name.length >> 8, name.length & 255), name]);
  expect(decodePacketMessage(suspectOf(Buffer.from("né")))).toMatchObject({ node: "né" });
  for (const name of [Buffer.of(0xff), Buffer.of(0xc3), Buffer.from("eda080", "hex"), Buffer.alloc(80, 0xfe)]) {
    expect(outcome(() => decodePacketMessage(suspectOf(name)))).toBe("a string is not UTF-8");
  }
  expect(outcome(() => decodePacketMessage(suspectOf(Buffer.alloc(codecLimits.textBytes + 1, 0x61))))).toBe("a string is too long");
});

// B50
test("values nested deeper than five, and objects of more than 4096 values, are errors wherever they stand", () => {
  const nested = (depth: number) => bytes(3, 0x81, 0xa1, "Z", ...new Array<number>(depth).fill(0x91), 1);
  expect(outcome(() => decodePacketMessage(nested(4)))).toMatchObject({ type: "suspect" });
  expect(outcome(() => decodePacketMessage(nested(5)))).toBe("an object is nested too deeply");
  expect(outcome(() => decodePacketMessage(nested(60_000)))).toBe("an object is nested too deeply");
  expect(outcome(() => decodePacketMessage(bytes(3, 0x81, 0xa1, "Z", 0xdc, 0x10, 0x01)))).toBe("an object has too many values");
  expect(outcome(() => decodePacketMessage(bytes(3, 0xdf, 0xff, 0xff, 0xff, 0xff)))).toBe("an object has too many values");
});
