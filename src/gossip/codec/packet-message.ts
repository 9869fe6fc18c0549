import { Fields } from "./fields.ts";
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
import { encodeStruct, type FieldValue } from "./msgpack-writer.ts";
import { protocolError } from "./protocol-error.ts";

const sourceFields = ["SourceAddr", "SourcePort", "SourceNode"];
export const pingFields: readonly string[] = ["SeqNo", "Node", ...sourceFields];
export const ackFields: readonly string[] = ["SeqNo", "Payload"];
const indirectPingFields = ["SeqNo", "Target", "Port", "Node", "Nack", ...sourceFields];
const accusationFields = ["Incarnation", "Node", "From"];
const aliveFields = ["Incarnation", "Node", "Addr", "Port", "Meta", "Vsn"];

/** Bytes of a struct behind its type byte. */
export function encodeTyped(type: number, fields: Readonly<Record<string, FieldValue>>): Buffer {
  return Buffer.concat([Buffer.of(type), encodeStruct(fields)]);
}

/** A message with its type byte. */
export function encodePacketMessage(message: PacketMessage): Buffer {
  switch (message.type) {
    case "ping":
      return encodeTyped(messageType.ping, { SeqNo: message.seqNo, Node: message.node, ...sourceOf(message.source) });
    case "indirectPing":
      return encodeTyped(messageType.indirectPing, {
        SeqNo: message.seqNo,
        Target: message.target,
        Port: message.port,
        Node: message.node,
        Nack: message.nack,
        ...sourceOf(message.source),
      });
    case "ack":
      return encodeTyped(messageType.ack, { SeqNo: message.seqNo, Payload: message.payload });
    case "nack":
      return encodeTyped(messageType.nack, { SeqNo: message.seqNo });
    case "suspect":
    case "dead":
      return encodeTyped(messageType[message.type], { Incarnation: message.incarnation, Node: message.node, From: message.from });
    case "alive":
      return encodeTyped(messageType.alive, {
        Incarnation: message.incarnation,
        Node: message.node,
        Addr: message.address,
        Port: message.port,
        Meta: message.meta.length === 0 ? null : message.meta,
        Vsn: message.versions,
      });
    case "user":
      return Buffer.concat([Buffer.of(messageType.user), message.payload]);
  }
}

function sourceOf(source: Source): Record<string, FieldValue> {
  return {
    SourceAddr: source.address.length === 0 ? undefined : source.address,
    SourcePort: source.port === 0 ? undefined : source.port,
    SourceNode: source.node === "" ? undefined : source.node,
  };
}

/** Decodes one unwrapped message. Bytes behind the body are ignored. Errors: `protocol_error`. */
export function decodePacketMessage(bytes: Uint8Array): PacketMessage {
  const type = bytes[0];
  const body = bytes.subarray(1);
  const struct = (fields: readonly string[]) => new Fields(complete(() => new MsgpackReader(body).struct(fields)));
  switch (type) {
    case undefined:
      throw protocolError("a message is empty");
    case messageType.ping:
      return pingFrom(struct(pingFields));
    case messageType.indirectPing:
      return indirectPingFrom(struct(indirectPingFields));
    case messageType.ack:
      return ackFrom(struct(ackFields));
    case messageType.nack:
      return nackFrom(struct(["SeqNo"]));
    case messageType.suspect:
      return { type: "suspect", ...accusationFrom(struct(accusationFields)) };
    case messageType.dead:
      return { type: "dead", ...accusationFrom(struct(accusationFields)) };
    case messageType.alive:
      return aliveFrom(struct(aliveFields));
    case messageType.user:
      return { type: "user", payload: Uint8Array.from(body) };
    default:
      throw protocolError("an unknown message type", { type });
  }
}

function sourceFrom(fields: Fields): Source {
  return { address: Uint8Array.from(fields.bytes("SourceAddr")), port: fields.u16("SourcePort"), node: fields.text("SourceNode") };
}

/** A ping from its fields. */
export function pingFrom(fields: Fields): PingMessage {
  return { type: "ping", seqNo: fields.u32("SeqNo"), node: fields.text("Node"), source: sourceFrom(fields) };
}

/** An acknowledgement from its fields. */
export function ackFrom(fields: Fields): AckMessage {
  const payload = fields.bytes("Payload");
  return { type: "ack", seqNo: fields.u32("SeqNo"), payload: payload.length === 0 ? null : Uint8Array.from(payload) };
}

function nackFrom(fields: Fields): NackMessage {
  return { type: "nack", seqNo: fields.u32("SeqNo") };
}

function indirectPingFrom(fields: Fields): IndirectPingMessage {
  return {
    type: "indirectPing",
    seqNo: fields.u32("SeqNo"),
    target: Uint8Array.from(fields.bytes("Target")),
    port: fields.u16("Port"),
    node: fields.text("Node"),
    nack: fields.bool("Nack"),
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
    address: Uint8Array.from(fields.bytes("Addr")),
    port: fields.u16("Port"),
    meta: Uint8Array.from(fields.bytes("Meta")),
    versions: Uint8Array.from(fields.bytes("Vsn")),
  };
}
