import { createCipheriv } from "node:crypto";
import { CodedError } from "../../src/base/index.ts";
import { makeCompounds, splitCompound } from "../../src/gossip/codec/compound.ts";
import { compressMessage, expandMessage, shrinkMessage } from "../../src/gossip/codec/compress.ts";
import { crc32 } from "../../src/gossip/codec/crc32.ts";
import { decrypt } from "../../src/gossip/codec/encryption.ts";
import type { Envelope } from "../../src/gossip/codec/envelope.ts";
import { labelHeader, stripLabel } from "../../src/gossip/codec/label.ts";
import { codecLimits } from "../../src/gossip/codec/limits.ts";
import { lzwDecode, lzwEncode } from "../../src/gossip/codec/lzw.ts";
import { nodeStates, type PacketMessage, type PushPullMessage, type StreamMessage } from "../../src/gossip/codec/message.ts";
import { openPacket } from "../../src/gossip/codec/packet.ts";
import { decodePacketMessage, encodePacketMessage } from "../../src/gossip/codec/packet-message.ts";
import { encodePushPull } from "../../src/gossip/codec/push-pull-message.ts";
import { StreamReader, sealStream } from "../../src/gossip/codec/stream.ts";
import type { FuzzTarget } from "../support/fuzzer.ts";
import { referenceLzwDecode } from "../support/reference-lzw.ts";
import { simRandom } from "../support/sim-random.ts";
import { foldIntoState } from "./gossip-state-target.ts";

const plain: Envelope = { label: "", keys: [] };
const key = new Uint8Array(16).fill(7);
const sealed: Envelope = { label: "", keys: [key] };
const labelled: Envelope = { label: "blue", keys: [] };
/** In the middle of turning on labels and encryption: everything is taken. */
const mixed: Envelope = { label: "blue", keys: [key], acceptUnlabelled: true, verifyIncoming: false };
const address = Uint8Array.of(127, 0, 0, 1);
const versions = Uint8Array.of(1, 5, 2, 0, 0, 0);
const source = { address, port: 7946, node: "n2" };

const messages: PacketMessage[] = [
  { type: "ping", seqNo: 300, node: "n1", source },
  { type: "indirectPing", seqNo: 5, target: address, port: 7946, node: "n1", nack: true, source },
  { type: "ack", seqNo: 70_000, payload: Uint8Array.of(1, 2) },
  { type: "nack", seqNo: 1 },
  { type: "suspect", incarnation: 128, node: "n1", from: "n2" },
  { type: "alive", incarnation: 1, node: "n1", address, port: 7946, meta: new Uint8Array(40), versions },
  { type: "dead", incarnation: 1, node: "n1", from: "n1" },
  { type: "user", payload: Uint8Array.of(1) },
];
/** Of the extensions, and what only just goes too far. */
const odd: PacketMessage[] = [
  { type: "indirectPing", seqNo: 5, target: address, port: 7946, node: "n1", nack: true, stream: true, source },
  { type: "nack", seqNo: 1, refused: true },
  { type: "suspect", incarnation: 1, node: "n".repeat(codecLimits.textBytes + 1), from: "n2" },
];
const encoded = [...messages, ...odd].map(encodePacketMessage);
/** Arrays in arrays, more than a call stack holds. */
const deep = Buffer.concat([Buffer.of(4), Buffer.alloc(60_000, 0x91)]);
/** About a node that is known with incarnation 3 at 10.0.0.2. */
const claims = [1, 3, 4]
  .flatMap((incarnation): PacketMessage[] => [
    { type: "alive", incarnation, node: "n2", address: Uint8Array.of(10, 0, 0, 2), port: 7946, meta: new Uint8Array(513), versions },
    { type: "alive", incarnation, node: "n2", address: Uint8Array.of(10, 0, 0, 2), port: 7946, meta: Uint8Array.of(1), versions },
    { type: "alive", incarnation, node: "n2", address, port: 7946, meta: new Uint8Array(), versions },
    { type: "suspect", incarnation, node: "n2", from: "n3" },
    { type: "dead", incarnation, node: "n2", from: "n3" },
    { type: "dead", incarnation, node: "n2", from: "n2" },
  ])
  .map(encodePacketMessage);
const compound = makeCompounds(encoded)[0] as Uint8Array;
const pushPull: PushPullMessage = {
  type: "pushPull",
  join: true,
  nodes: [
    { name: "n1", address, port: 7946, meta: address, incarnation: 1, state: "alive", versions },
    { name: "n2", address, port: 7947, meta: new Uint8Array(), incarnation: 200, state: "left", versions },
  ],
  userState: new Uint8Array(10),
};
const streamMessages: StreamMessage[] = [
  pushPull,
  { type: "ping", seqNo: 1, node: "n1", source },
  { type: "ack", seqNo: 2, payload: null },
  { type: "error", error: "no" },
  { type: "user", payload: new Uint8Array(20) },
];

/** Compressed once more than may be, and more parts than may be. */
const nested = Array.from({ length: 6 }).reduce<Uint8Array>((bytes) => compressMessage(bytes), compound);
const crowded = makeCompounds(
  Array.from({ length: 10 }, () => makeCompounds(Array.from({ length: 255 }, () => new Uint8Array()))[0] as Uint8Array),
);
/** Codes of all widths without one that clears the table: what peers go on with when it is full. */
function fullTable(): Buffer {
  let bits = 0n;
  let at = 0n;
  const put = (code: number, width: number) => {
    bits |= BigInt(code) << at;
    at += BigInt(width);
  };
  for (let high = 257; high < 5000; high++) put(high % 251, Math.min(12, Math.max(9, Math.floor(Math.log2(high)) + 1)));
  put(257, 12);
  const bytes = Buffer.alloc(Number(at / 8n) + 1);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number((bits >> BigInt(8 * i)) & 255n);
  return bytes;
}
const packable = [...encoded, Buffer.alloc(5000), Buffer.alloc(70_000), compound, simRandom(1).bytes(12_000)];

const raw = (text: string) => Buffer.concat([Buffer.of(0xa0 | text.length), Buffer.from(text)]);
const fieldNames = ["SeqNo", "Node", "SourceAddr", "SourcePort", "SourceNode", "Target", "Port", "Nack", "Payload", "Incarnation", "From"]
  .concat(["Addr", "Meta", "Vsn", "Nodes", "UserStateLen", "Join", "Name", "State", "UserMsgLen", "Algo", "Buf", "Error"])
  .map(raw);
const tags = ["80", "8f", "de0002", "df00000002", "90", "dc0003", "dd00000003", "a0", "d902", "da0002", "db00000002", "c402", "c50002"]
  .concat(["c0", "c3", "ccff", "cdffff", "ceffffffff", "cf0020000000000001", "d0ff", "d1ffff", "d2ffffffff", "d3ffffffffffffffff"])
  .concat(["ca7fc00000", "cb7ff8000000000000", "d401ff", "c70101ff", "c1", "0a00000030", "0701", "07ff", "09", "0c", "06", "f404626c7565"])
  .map((hex) => Buffer.from(hex, "hex"));
const dictionary = [...fieldNames, ...tags];

/** `decode()`, or in words the legal error that it threw. Any other error is a fault. */
function legally<T>(decode: () => T): T | string {
  try {
    return decode();
  } catch (error) {
    if (!CodedError.is(error, "protocol_error")) throw error;
    return `${error.message} ${String(error.fields["field"] ?? error.fields["reason"] ?? "")}`;
  }
}

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

const magnitude = (value: number) => (value === 0 ? 0 : 1 + Math.floor(Math.log2(value)));

/** Bytes that a decoded value keeps. */
function sizeOf(value: unknown): number {
  if (value instanceof Uint8Array) return value.length;
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8;
  return Object.values(value).reduce((sum: number, part) => sum + sizeOf(part), 0);
}

/** Every number is in its range and every choice is one of those that there are. */
function checkShape(value: object): void {
  for (const [name, part] of Object.entries(value)) {
    if (name === "port") check(Number.isInteger(part) && part >= 0 && part <= 0xffff, `a port of ${part}`);
    if (name === "seqNo" || name === "incarnation") check(Number.isInteger(part) && part >= 0 && part <= 0xffffffff, `${name} is ${part}`);
    if (name === "state") check(nodeStates.includes(part), `a state of ${part}`);
    if (typeof part === "string") check(Buffer.byteLength(part) <= codecLimits.textBytes && part.isWellFormed(), "an impossible string");
  }
}

/** Decoding gives back what encoding makes of a decoded message: nothing is lost and nothing invented. */
function checkRoundTrip(message: PacketMessage): void {
  const again = decodePacketMessage(encodePacketMessage(message));
  check(JSON.stringify(again) === JSON.stringify(message), `encoding changes ${JSON.stringify(message)}`);
}

function runPacket(bytes: Uint8Array, envelope: Envelope): string {
  const opened = legally(() => openPacket(bytes, envelope));
  if (typeof opened === "string") return opened;
  check(opened.messages.length <= codecLimits.messagesPerPacket, "more messages than the limit");
  // Each byte stands in one message, so this bounds the work as well.
  const kept = opened.messages.reduce((sum, message) => sum + sizeOf(message), 0);
  check(kept <= bytes.length + codecLimits.packetExpandedBytes + 64 * opened.messages.length, `keeps ${kept} bytes`);
  for (const problem of opened.problems) check(problem.code === "protocol_error", `a problem is ${problem.code}`);
  for (const message of opened.messages.slice(0, 8)) {
    checkShape(message);
    checkRoundTrip(message);
  }
  const types = [...new Set(opened.messages.map(({ type }) => type))].sort().join("+");
  const problems = [...new Set(opened.problems.map(({ message, fields }) => `${message} ${String(fields["field"] ?? "")}`))].slice(0, 2);
  return `${types}*${magnitude(opened.messages.length)} ${problems.join()}`;
}

/** Takes a stream in chunks whose size follows from the input, so that one input is one run. */
function runStream(bytes: Uint8Array, envelope: Envelope, dialled: boolean): string {
  let held = 0;
  const reader = new StreamReader(envelope, dialled, (sizeBytes) => {
    held += sizeBytes;
  });
  const chunkBytes = 1 + ((bytes.length * 7) % 97);
  const read = (from: StreamReader, sizeBytes: number) => {
    for (let at = 0; at < bytes.length; at += sizeBytes) {
      const message = from.push(bytes.subarray(at, at + sizeBytes));
      if (message) return message;
    }
    return "waits for more";
  };
  const outcome = legally(() => read(reader, chunkBytes));
  const whole = legally(() => read(new StreamReader(envelope, dialled), bytes.length));
  check(JSON.stringify(outcome) === JSON.stringify(whole), "chunks of another size lead elsewhere");
  // What is kept was announced, so that the bound on all streams together holds.
  check(held <= bytes.length + codecLimits.streamExpandedBytes + 1000 * bytes.length, `holds ${held} bytes`);
  if (typeof outcome === "string") return outcome;
  for (const part of outcome.type === "pushPull" ? outcome.nodes : [outcome]) checkShape(part);
  const kept = sizeOf(outcome);
  check(kept <= held + 256, `keeps ${kept} bytes and announced ${held}`);
  return outcome.type === "pushPull" ? `pushPull ${outcome.nodes.length} ${magnitude(outcome.userState.length)}` : outcome.type;
}

/** The body of one message, without anything around it. */
function runMessage(bytes: Uint8Array): string {
  const message = legally(() => decodePacketMessage(bytes));
  if (typeof message === "string") return message;
  checkShape(message);
  checkRoundTrip(message);
  check(sizeOf(message) <= bytes.length + 128, "keeps more than came in");
  const known = Object.values(message).map((value) =>
    typeof value === "object" && value !== null ? magnitude(sizeOf(value)) : typeof value,
  );
  return `${message.type} ${known.join()}`;
}

const lzwLimitBytes = 1 << 16;

function runLzw(bytes: Uint8Array): string {
  const expanded = legally(() => lzwDecode(bytes, lzwLimitBytes));
  // The same input as plaintext: what was packed is unpacked, and within the bound that the encoder promises.
  const packed = lzwEncode(bytes);
  check(packed.length <= 3 + bytes.length * 1.5, `${bytes.length} bytes became ${packed.length}`);
  check(lzwDecode(packed, bytes.length).equals(bytes), "unpacking does not give back what was packed");
  const expected = referenceLzwDecode(bytes, lzwLimitBytes);
  if (typeof expected === "object") check(typeof expanded === "object" && expanded.equals(expected), "expands to something else");
  if (expected === "damaged") check(typeof expanded === "string", "expands what is damaged");
  if (typeof expanded === "string") return `${expanded} ${magnitude(bytes.length)}`;
  check(expanded.length <= lzwLimitBytes, "expanded beyond the limit");
  check(expanded.buffer.byteLength <= Math.max(lzwLimitBytes, Buffer.poolSize), "allocated beyond the limit");
  return `${magnitude(expanded.length)} of ${magnitude(bytes.length)}`;
}

function runCompound(bytes: Uint8Array): string {
  const split = legally(() => splitCompound(bytes));
  if (typeof split === "string") return split;
  const total = split.parts.reduce((sum, part) => sum + part.length, 0);
  check(split.parts.length + split.truncated === bytes[0], "parts are missing");
  check(total + 1 + 2 * (bytes[0] as number) <= bytes.length, "parts overlap");
  return `${magnitude(split.parts.length)} ${magnitude(split.truncated)}`;
}

/** The first byte says what an attacker has: no key, or the key and free choice of the plaintext in either format. */
function runDecrypt(bytes: Uint8Array): string {
  const [mode = 0] = bytes;
  const body = bytes.subarray(1);
  const none = new Uint8Array();
  const input = mode % 4 === 0 ? body : encryptAs(mode % 4 === 1 ? 0 : 1, body, none);
  const result = legally(() => decrypt(input, [new Uint8Array(32), key], none));
  if (typeof result === "string") return `${mode % 4} ${result}`;
  check(result.length <= body.length, "plaintext is longer than the ciphertext");
  const padding = body.length - result.length;
  if (mode % 4 === 1) check(padding >= 1 && padding <= 16, `a padding of ${padding} bytes`);
  if (mode % 4 === 2) check(result.equals(body), "decrypting does not give back what was encrypted");
  return mode % 4 === 3 ? `packet ${runPacket(input, sealed)}` : `${mode % 4} ${magnitude(result.length)} ${padding}`;
}

function encryptAs(version: number, plaintext: Uint8Array, additional: Uint8Array): Buffer {
  const nonce = new Uint8Array(12);
  const cipher = createCipheriv("aes-128-gcm", key, nonce);
  cipher.setAAD(additional);
  return Buffer.concat([Buffer.of(version), nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/** An encrypted frame around the input. */
function runSealedStream(bytes: Uint8Array): string {
  const head = Buffer.alloc(5);
  head[0] = 10;
  head.writeUInt32BE(bytes.length + 29, 1);
  return runStream(Buffer.concat([head, encryptAs(1, bytes, head)]), sealed, true);
}

function runLabel(bytes: Uint8Array): string {
  const stripped = legally(() => stripLabel(bytes, "blue"));
  if (typeof stripped === "object") check(bytes.length - stripped.length === 6, "another number of bytes than the header's");
  const unlabelled = legally(() => stripLabel(bytes, ""));
  if (typeof unlabelled === "object") check(unlabelled.length === bytes.length, "a label was taken off that nobody expects");
  const kind = (result: Uint8Array | string | undefined) => (typeof result === "object" ? "bytes" : String(result));
  return `${kind(stripped)}, ${kind(unlabelled)}, ${runPacket(bytes, labelled)}, ${runStream(bytes, labelled, false)}`;
}

/** The input with a right checksum, so that changes get past it. */
function withCrc(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head[0] = 12;
  head.writeUInt32BE(crc32(bytes), 1);
  return Buffer.concat([head, bytes]);
}

/** The input as what is inside of a compressed message, and as what a member would compress where that helps. */
function runCompressed(bytes: Uint8Array): string {
  const shrunk = shrinkMessage(bytes);
  if (shrunk)
    check(shrunk.length < bytes.length && expandMessage(shrunk.subarray(1), bytes.length).equals(bytes), "shrinks to something else");
  return `${runPacket(compressMessage(bytes), plain)} ${shrunk !== undefined}`;
}

const sealPlain = (message: StreamMessage, compress: boolean) => sealStream(message, { ...plain, compress, dialled: false }, simRandom(1));
const target = (name: string, seeds: readonly Uint8Array[], run: FuzzTarget["run"], maxBytes = 2000): FuzzTarget => {
  return { name, seeds, dictionary, maxBytes, run };
};

/** Every place where the member reads what others wrote. */
export const gossipTargets: readonly FuzzTarget[] = [
  target("msgpack", encoded, runMessage),
  target("lzw", [...packable.map((bytes) => lzwEncode(bytes)), fullTable(), ...packable], runLzw, 16_000),
  target("compound", [compound.subarray(1)], runCompound),
  target("packet", [...encoded, compound, compressMessage(compound), withCrc(compound), deep, nested, ...crowded], (bytes) =>
    runPacket(bytes, plain),
  ),
  target("packet-checked", [...encoded, compound], (bytes) => runPacket(withCrc(bytes), plain)),
  target("packet-compressed", [...encoded, compound], runCompressed),
  target("packet-mixed", [...encoded, compound, Buffer.concat([labelHeader("blue"), compound])], (bytes) => {
    return `${runPacket(bytes, mixed)}, ${runStream(bytes, mixed, false)}`;
  }),
  target("label", [Buffer.concat([labelHeader("blue"), compound]), Buffer.of(244, 4, 98, 108)], runLabel),
  target(
    "decrypt",
    [0, 1, 2, 3].flatMap((mode) => [compound, Buffer.alloc(16, 16)].map((bytes) => Buffer.concat([Buffer.of(mode), bytes]))),
    runDecrypt,
  ),
  target(
    "stream",
    streamMessages.flatMap((message) => [sealPlain(message, false), sealPlain(message, true)]),
    (bytes) => runStream(bytes, plain, true),
  ),
  target(
    "stream-encrypted",
    streamMessages.map((message) => sealPlain(message, false)),
    runSealedStream,
  ),
  target(
    "push-pull",
    [encodePushPull(pushPull), Buffer.from(encodePushPull(pushPull)).fill(4, 85, 86)],
    (bytes) => runStream(bytes, plain, true),
    20_000,
  ),
  target("state", [compound, encodePushPull(pushPull), ...encoded, ...claims], foldIntoState),
];
