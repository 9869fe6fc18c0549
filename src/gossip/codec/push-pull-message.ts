import { Fields } from "./fields.ts";
import { codecLimits } from "./limits.ts";
import { messageType, nodeStates, type PushNodeState, type PushPullMessage } from "./message.ts";
import type { MsgpackReader } from "./msgpack-reader.ts";
import { encodeStruct } from "./msgpack-writer.ts";
import { encodeTyped } from "./packet-message.ts";
import { protocolError } from "./protocol-error.ts";

const nodeFields = ["Name", "Addr", "Port", "Meta", "Incarnation", "State", "Vsn"];

/** Header, node states and user state, with the type byte. */
export function encodePushPull(message: PushPullMessage): Buffer {
  return Buffer.concat([
    encodeTyped(messageType.pushPull, { Nodes: message.nodes.length, UserStateLen: message.userState.length, Join: message.join }),
    ...message.nodes.map(encodeNode),
    message.userState,
  ]);
}

function encodeNode(node: PushNodeState): Buffer {
  return encodeStruct({
    Name: node.name,
    Addr: node.address,
    Port: node.port,
    Meta: node.meta.length === 0 ? null : node.meta,
    Incarnation: node.incarnation,
    State: nodeStates.indexOf(node.state),
    Vsn: node.versions,
  });
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
      const fields = new Fields(reader.struct(["Nodes", "UserStateLen", "Join"]));
      this.#header = {
        nodes: fields.unsigned("Nodes", codecLimits.nodesPerPushPull),
        userStateBytes: fields.unsigned("UserStateLen", codecLimits.streamBytes),
        join: fields.bool("Join"),
      };
      consumed(reader.offset);
    }
    const { nodes, userStateBytes, join } = this.#header;
    while (this.#nodes.length < nodes) {
      this.#nodes.push(nodeFrom(new Fields(reader.struct(nodeFields))));
      this.#hold(nodeCostBytes);
      consumed(reader.offset);
    }
    return { type: "pushPull", join, nodes: this.#nodes, userState: Uint8Array.from(reader.raw(userStateBytes)) };
  }
}

function nodeFrom(fields: Fields): PushNodeState {
  const state = nodeStates[fields.unsigned("State", nodeStates.length - 1)];
  if (!state) throw protocolError("an unknown node state");
  return {
    name: fields.text("Name"),
    address: Uint8Array.from(fields.bytes("Addr")),
    port: fields.u16("Port"),
    meta: Uint8Array.from(fields.bytes("Meta")),
    incarnation: fields.u32("Incarnation"),
    state,
    versions: Uint8Array.from(fields.bytes("Vsn")),
  };
}
