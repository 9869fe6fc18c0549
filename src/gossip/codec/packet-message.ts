import type { Fields } from "./fields.ts";
import {
  type AckMessage,
  type AliveMessage,
  type DeadMessage,
  type IndirectPingMessage,
  messageType,
  type NackMessage,
  type PacketMessage,
  type PingMessage,
  type Source,
  type SuspectMessage,
} from "./message.ts";
import { complete, MsgpackReader } from "./msgpack-reader.ts";
import { encodeKey, MsgpackWriter } from "./msgpack-writer.ts";
import { protocolError } from "./protocol-error.ts";
import { Schema } from "./schema.ts";

const sourceFields = ["SourceAddr", "SourcePort", "SourceNode"];
const pingSchema = new Schema(["SeqNo", "Node", ...sourceFields]);
const ackSchema = new Schema(["SeqNo", "Payload"]);
const nackSchema = new Schema(["SeqNo", "Refused"]);
const indirectPingSchema = new Schema(["SeqNo", "Target", "Port", "Node", "Nack", ...sourceFields, "Stream"]);
const accusationSchema = new Schema(["Incarnation", "Node", "From"]);
const aliveSchema = new Schema(["Incarnation", "Node", "Addr", "Port", "Meta", "Vsn"]);

const key = {
  addr: encodeKey("Addr"),
  from: encodeKey("From"),
  incarnation: encodeKey("Incarnation"),
  meta: encodeKey("Meta"),
  nack: encodeKey("Nack"),
  node: encodeKey("Node"),
  payload: encodeKey("Payload"),
  port: encodeKey("Port"),
  refused: encodeKey("Refused"),
  seqNo: encodeKey("SeqNo"),
  sourceAddr: encodeKey("SourceAddr"),
  sourceNode: encodeKey("SourceNode"),
  sourcePort: encodeKey("SourcePort"),
  stream: encodeKey("Stream"),
  target: encodeKey("Target"),
  vsn: encodeKey("Vsn"),
};

// One for all: encoding never waits, so no two messages are ever in it.
const writer = new MsgpackWriter();

/** A message with its type byte. */
export function encodePacketMessage(message: PacketMessage): Buffer {
  writer.start();
  writer.byte(messageType[message.type]);
  switch (message.type) {
    case "ping":
      writePing(message);
      break;
    case "indirectPing":
      writeIndirectPing(message);
      break;
    case "ack":
      // Readers take what is absent for nothing, and most acknowledgements carry nothing.
      writer.struct(message.payload === null ? 1 : 2);
      if (message.payload !== null) {
        writer.key(key.payload);
        writeBytes(message.payload);
      }
      writeSeqNo(message.seqNo);
      break;
    case "nack":
      writer.struct(message.refused ? 2 : 1);
      if (message.refused) writeTrue(key.refused);
      writeSeqNo(message.seqNo);
      break;
    case "suspect":
    case "dead":
      writer.struct(3);
      writer.key(key.from);
      writer.text(message.from);
      writeIncarnation(message.incarnation);
      writeNode(message.node);
      break;
    case "alive":
      writeAlive(message);
      break;
    case "user":
      writer.raw(message.payload);
  }
  return writer.finish();
}

// Each writes its keys in ASCII order, as all memberlist versions do.

function writePing({ node, seqNo, source }: PingMessage): void {
  writer.struct(2 + sourceFieldCount(source));
  writeNode(node);
  writeSeqNo(seqNo);
  writeSource(source);
}

function writeIndirectPing({ nack, node, port, seqNo, source, stream, target }: IndirectPingMessage): void {
  writer.struct(5 + sourceFieldCount(source) + (stream ? 1 : 0));
  writer.key(key.nack);
  writer.bool(nack);
  writeNode(node);
  writePort(port);
  writeSeqNo(seqNo);
  writeSource(source);
  if (stream) writeTrue(key.stream);
  writer.key(key.target);
  writer.bytes(target);
}

function writeAlive({ address, incarnation, meta, node, port, versions }: AliveMessage): void {
  writer.struct(6);
  writer.key(key.addr);
  writer.bytes(address);
  writeIncarnation(incarnation);
  writer.key(key.meta);
  writeBytes(meta);
  writeNode(node);
  writePort(port);
  writer.key(key.vsn);
  writer.bytes(versions);
}

function sourceFieldCount({ address, node, port }: Source): number {
  return (address.length > 0 ? 1 : 0) + (node === "" ? 0 : 1) + (port === 0 ? 0 : 1);
}

function writeSource({ address, node, port }: Source): void {
  if (address.length > 0) {
    writer.key(key.sourceAddr);
    writer.bytes(address);
  }
  if (node !== "") {
    writer.key(key.sourceNode);
    writer.text(node);
  }
  if (port !== 0) {
    writer.key(key.sourcePort);
    writer.unsigned(port);
  }
}

function writeTrue(name: Uint8Array): void {
  writer.key(name);
  writer.bool(true);
}

function writeSeqNo(seqNo: number): void {
  writer.key(key.seqNo);
  writer.unsigned(seqNo);
}

function writeIncarnation(incarnation: number): void {
  writer.key(key.incarnation);
  writer.unsigned(incarnation);
}

function writeNode(node: string): void {
  writer.key(key.node);
  writer.text(node);
}

function writePort(port: number): void {
  writer.key(key.port);
  writer.unsigned(port);
}

/** Nothing is nil on the wire, not empty. */
function writeBytes(bytes: Uint8Array | null): void {
  if (bytes === null || bytes.length === 0) writer.nil();
  else writer.bytes(bytes);
}

/** Decodes one unwrapped message. Bytes behind the body are ignored. Errors: `protocol_error`. */
export function decodePacketMessage(bytes: Uint8Array): PacketMessage {
  return complete(() => decode(bytes));
}

function decode(bytes: Uint8Array): PacketMessage {
  const type = bytes[0];
  if (type === undefined) throw protocolError("a message is empty");
  const reader = new MsgpackReader(bytes, 1);
  switch (type) {
    case messageType.ping:
      return readPing(reader);
    case messageType.indirectPing:
      return indirectPingFrom(reader.struct(indirectPingSchema));
    case messageType.ack:
      return readAck(reader);
    case messageType.nack:
      return nackFrom(reader.struct(nackSchema));
    case messageType.suspect:
      return { type: "suspect", ...accusationFrom(reader.struct(accusationSchema)) };
    case messageType.dead:
      return { type: "dead", ...accusationFrom(reader.struct(accusationSchema)) };
    case messageType.alive:
      return aliveFrom(reader.struct(aliveSchema));
    case messageType.user:
      return { type: "user", payload: new Uint8Array(bytes.subarray(1)) };
    default:
      throw protocolError("an unknown message type", { type });
  }
}

/** A ping, whose type byte was read. Throws IncompleteError where the bytes end early. Errors: `protocol_error`. */
export function readPing(reader: MsgpackReader): PingMessage {
  const fields = reader.struct(pingSchema);
  return { type: "ping", seqNo: fields.u32("SeqNo"), node: fields.text("Node"), source: sourceFrom(fields) };
}

/** An acknowledgement, whose type byte was read. Throws IncompleteError where the bytes end early. Errors: `protocol_error`. */
export function readAck(reader: MsgpackReader): AckMessage {
  const fields = reader.struct(ackSchema);
  const payload = fields.bytes("Payload");
  return { type: "ack", seqNo: fields.u32("SeqNo"), payload: payload.length === 0 ? null : payload };
}

function sourceFrom(fields: Fields): Source {
  return { address: fields.bytes("SourceAddr"), port: fields.u16("SourcePort"), node: fields.text("SourceNode") };
}

function nackFrom(fields: Fields): NackMessage {
  return { type: "nack", seqNo: fields.u32("SeqNo"), ...(fields.bool("Refused") ? { refused: true } : {}) };
}

function indirectPingFrom(fields: Fields): IndirectPingMessage {
  return {
    type: "indirectPing",
    seqNo: fields.u32("SeqNo"),
    target: fields.bytes("Target"),
    port: fields.u16("Port"),
    node: fields.text("Node"),
    nack: fields.bool("Nack"),
    ...(fields.bool("Stream") ? { stream: true } : {}),
    source: sourceFrom(fields),
  };
}

function accusationFrom(fields: Fields): Omit<SuspectMessage, "type"> & Omit<DeadMessage, "type"> {
  return { incarnation: fields.u32("Incarnation"), node: fields.text("Node"), from: fields.text("From") };
}

function aliveFrom(fields: Fields): AliveMessage {
  return {
    type: "alive",
    incarnation: fields.u32("Incarnation"),
    node: fields.text("Node"),
    address: fields.bytes("Addr"),
    port: fields.u16("Port"),
    meta: fields.bytes("Meta"),
    versions: fields.bytes("Vsn"),
  };
}
