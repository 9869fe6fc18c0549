/** First byte of a plaintext message. */
export const messageType = {
  ping: 0,
  indirectPing: 1,
  ack: 2,
  suspect: 3,
  alive: 4,
  dead: 5,
  pushPull: 6,
  compound: 7,
  user: 8,
  compress: 9,
  encrypt: 10,
  nack: 11,
  crc: 12,
  error: 13,
  label: 244,
} as const;

const messageTypes: ReadonlySet<number> = new Set(Object.values(messageType));

/** Whether a message can begin so. What cannot, such as HTTP or a handshake of TLS, strayed here from another protocol. */
export function isMessageType(byte: number | undefined): boolean {
  return byte !== undefined && messageTypes.has(byte);
}

/** Where a reply should go: the sender's advertised address. Empty and 0 where the sender gave none. */
export interface Source {
  readonly address: Uint8Array;
  readonly port: number;
  readonly node: string;
}

export interface PingMessage {
  readonly type: "ping";
  readonly seqNo: number;
  readonly node: string;
  readonly source: Source;
}

export interface IndirectPingMessage {
  readonly type: "indirectPing";
  readonly seqNo: number;
  readonly target: Uint8Array;
  readonly port: number;
  readonly node: string;
  /** The asker understands a negative answer. */
  readonly nack: boolean;
  /** The asker wants a stream to be tried as well, and to hear whether it was refused. Not known to memberlist, which ignores it. */
  readonly stream?: boolean;
  readonly source: Source;
}

export interface AckMessage {
  readonly type: "ack";
  readonly seqNo: number;
  readonly payload: Uint8Array | null;
}

export interface NackMessage {
  readonly type: "nack";
  readonly seqNo: number;
  /** The node's host refused a stream to its port. Not known to memberlist, which ignores it. */
  readonly refused?: boolean;
}

export interface SuspectMessage {
  readonly type: "suspect";
  readonly incarnation: number;
  readonly node: string;
  readonly from: string;
}

/** `from` equal to `node` means that the node left by itself. */
export interface DeadMessage {
  readonly type: "dead";
  readonly incarnation: number;
  readonly node: string;
  readonly from: string;
}

export interface AliveMessage {
  readonly type: "alive";
  readonly incarnation: number;
  readonly node: string;
  /** 4 or 16 bytes, passed on as they came: peers compare them byte by byte. */
  readonly address: Uint8Array;
  readonly port: number;
  readonly meta: Uint8Array;
  /** Protocol min, max, current; delegate min, max, current. */
  readonly versions: Uint8Array;
}

interface UserMessage {
  readonly type: "user";
  readonly payload: Uint8Array;
}

interface ErrorMessage {
  readonly type: "error";
  readonly error: string;
}

/** State of a node on the wire: its place in this list is its number. */
export const nodeStates = ["alive", "suspect", "dead", "left"] as const;
export type NodeState = (typeof nodeStates)[number];

/** One node in a push/pull. */
export interface PushNodeState {
  readonly name: string;
  readonly address: Uint8Array;
  readonly port: number;
  readonly meta: Uint8Array;
  readonly incarnation: number;
  readonly state: NodeState;
  readonly versions: Uint8Array;
}

export interface PushPullMessage {
  readonly type: "pushPull";
  readonly join: boolean;
  readonly nodes: readonly PushNodeState[];
  readonly userState: Uint8Array;
}

/** What one datagram can hold, unwrapped. */
export type PacketMessage =
  | PingMessage
  | IndirectPingMessage
  | AckMessage
  | NackMessage
  | SuspectMessage
  | DeadMessage
  | AliveMessage
  | UserMessage;

/** What one stream can hold, unwrapped. */
export type StreamMessage = PingMessage | AckMessage | ErrorMessage | UserMessage | PushPullMessage;
