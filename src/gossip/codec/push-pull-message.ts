import type { Fields } from "./fields.ts";
import { codecLimits } from "./limits.ts";
import { messageType, nodeStates, type PushNodeState, type PushPullMessage } from "./message.ts";
import type { MsgpackReader } from "./msgpack-reader.ts";
import { encodeKey, MsgpackWriter } from "./msgpack-writer.ts";
import { protocolError } from "./protocol-error.ts";
import { Schema } from "./schema.ts";

const headerSchema = new Schema(["Nodes", "UserStateLen", "Join"]);
const nodeSchema = new Schema(["Name", "Addr", "Port", "Meta", "Incarnation", "State", "Vsn"]);

const key = {
  addr: encodeKey("Addr"),
  incarnation: encodeKey("Incarnation"),
  join: encodeKey("Join"),
  meta: encodeKey("Meta"),
  name: encodeKey("Name"),
  nodes: encodeKey("Nodes"),
  port: encodeKey("Port"),
  state: encodeKey("State"),
  userStateLen: encodeKey("UserStateLen"),
  vsn: encodeKey("Vsn"),
};

/** Header, node states and user state, with the type byte. */
export function encodePushPull({ join, nodes, userState }: PushPullMessage): Buffer {
  const writer = new MsgpackWriter();
  writer.byte(messageType.pushPull);
  writer.struct(3);
  writer.key(key.join);
  writer.bool(join);
  writer.key(key.nodes);
  writer.unsigned(nodes.length);
  writer.key(key.userStateLen);
  writer.unsigned(userState.length);
  for (const node of nodes) writeNode(writer, node);
  writer.raw(userState);
  return writer.finish();
}

function writeNode(writer: MsgpackWriter, node: PushNodeState): void {
  writer.struct(7);
  writer.key(key.addr);
  writer.bytes(node.address);
  writer.key(key.incarnation);
  writer.unsigned(node.incarnation);
  writer.key(key.meta);
  if (node.meta.length === 0) writer.nil();
  else writer.bytes(node.meta);
  writer.key(key.name);
  writer.text(node.name);
  writer.key(key.port);
  writer.unsigned(node.port);
  writer.key(key.state);
  writer.unsigned(nodeStates.indexOf(node.state));
  writer.key(key.vsn);
  writer.bytes(node.versions);
}

/** What a decoded node takes up beside its bytes, roughly. */
const nodeCostBytes = 768;

/** Reads a push/pull piece by piece; nothing on the wire marks its end. */
export class PushPullParser {
  #header: { nodes: number; userStateBytes: number; join: boolean } | undefined;
  readonly #nodes: PushNodeState[] = [];
  readonly #hold: (sizeBytes: number) => void;

  /** `hold` is told what is kept in memory, and may throw. */
  constructor(hold: (sizeBytes: number) => void) {
    this.#hold = hold;
  }

  /** Reads on; throws IncompleteError where the bytes end, and `consumed` then says how many were understood. */
  read(reader: MsgpackReader, consumed: (offset: number) => void): PushPullMessage {
    if (!this.#header) {
      const fields = reader.struct(headerSchema);
      this.#header = {
        nodes: fields.unsigned("Nodes", codecLimits.nodesPerPushPull),
        userStateBytes: fields.unsigned("UserStateLen", codecLimits.streamBytes),
        join: fields.bool("Join"),
      };
      consumed(reader.offset);
    }
    const { nodes, userStateBytes, join } = this.#header;
    while (this.#nodes.length < nodes) {
      this.#nodes.push(nodeFrom(reader.struct(nodeSchema)));
      this.#hold(nodeCostBytes);
      consumed(reader.offset);
    }
    return { type: "pushPull", join, nodes: this.#nodes, userState: new Uint8Array(reader.raw(userStateBytes)) };
  }
}

function nodeFrom(fields: Fields): PushNodeState {
  const state = nodeStates[fields.unsigned("State", nodeStates.length - 1)];
  if (!state) throw protocolError("an unknown node state");
  return {
    name: fields.text("Name"),
    address: fields.bytes("Addr"),
    port: fields.u16("Port"),
    meta: fields.bytes("Meta"),
    incarnation: fields.u32("Incarnation"),
    state,
    versions: fields.bytes("Vsn"),
  };
}
