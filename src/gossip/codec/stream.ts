import type { Random } from "../../base/index.ts";
import { compressMessage, expandMessage } from "./compress.ts";
import { decrypt, encrypt, encryptedBytes } from "./encryption.ts";
import { type Envelope, labelBytes, requiresEncryption, sendKey } from "./envelope.ts";
import { labelHeader, stripLabel } from "./label.ts";
import { codecLimits } from "./limits.ts";
import { isMessageType, messageType, type StreamMessage } from "./message.ts";
import { complete, IncompleteError, MsgpackReader } from "./msgpack-reader.ts";
import { encodeStruct } from "./msgpack-writer.ts";
import { encodePacketMessage, readAck, readPing } from "./packet-message.ts";
import { protocolError } from "./protocol-error.ts";
import { encodePushPull, PushPullParser } from "./push-pull-message.ts";
import { Schema } from "./schema.ts";

const frameHeadBytes = 5;
const errorSchema = new Schema(["Error"]);
const userSchema = new Schema(["UserMsgLen"]);

/** A message with its type byte, as it stands in a stream. */
function encodeStreamMessage(message: StreamMessage): Buffer {
  switch (message.type) {
    case "ping":
    case "ack":
      return encodePacketMessage(message);
    case "error":
      return Buffer.concat([Buffer.of(messageType.error), encodeStruct({ Error: message.error })]);
    case "user":
      return Buffer.concat([Buffer.of(messageType.user), encodeStruct({ UserMsgLen: message.payload.length }), message.payload]);
    case "pushPull":
      return encodePushPull(message);
  }
}

/** All bytes that one side of a stream sends. Only the side that dialled sends the label header. */
export function sealStream(
  message: StreamMessage,
  options: Envelope & { readonly compress: boolean; readonly dialled: boolean },
  random: Random,
): Uint8Array {
  let frame = encodeStreamMessage(message);
  if (options.compress) frame = compressMessage(frame);
  const key = sendKey(options);
  if (key) {
    const format = options.encryptionFormat ?? 1;
    const head = frameHead(encryptedBytes(frame.length, format));
    frame = Buffer.concat([head, encrypt(frame, key, Buffer.concat([head, labelBytes(options)]), random, format)]);
  }
  return options.dialled ? Buffer.concat([labelHeader(options.label), frame]) : frame;
}

function frameHead(sizeBytes: number): Buffer {
  const head = Buffer.alloc(frameHeadBytes);
  head[0] = messageType.encrypt;
  head.writeUInt32BE(sizeBytes, 1);
  return head;
}

/** Collects the bytes of one stream until the one message that it carries is whole. */
export class StreamReader {
  readonly #envelope: Envelope;
  readonly #hold: (sizeBytes: number) => void;
  #expectLabel: boolean;
  #buffer = Buffer.alloc(0);
  #size = 0;
  #start = 0;
  #pushPull: PushPullParser | undefined;
  #isFrameOpen = false;

  /**
   * `dialled`: this side opened the stream, so the peer sends no label header.
   * `hold` is told what is kept in memory, and may throw a `protocol_error`.
   */
  constructor(envelope: Envelope, dialled: boolean, hold: (sizeBytes: number) => void = () => {}) {
    this.#envelope = envelope;
    this.#hold = hold;
    this.#expectLabel = !dialled;
  }

  /** True once the label fits, until the layers around the message are off: what fails then is the frame. */
  get isInFrame(): boolean {
    return !this.#expectLabel && !this.#isFrameOpen;
  }

  /** Takes the next bytes; returns the message once it is complete. Errors: `protocol_error`. */
  push(chunk: Uint8Array): StreamMessage | undefined {
    this.#append(chunk);
    try {
      return this.#read();
    } catch (error) {
      if (error instanceof IncompleteError) return undefined;
      throw error;
    }
  }

  #append(chunk: Uint8Array): void {
    const needed = this.#size + chunk.length;
    if (needed > codecLimits.streamBytes * 2) throw protocolError("a stream is too long", { sizeBytes: needed });
    this.#hold(chunk.length);
    if (needed > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(needed, this.#buffer.length * 2, 1024));
      this.#buffer.copy(larger, 0, 0, this.#size);
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#size);
    this.#size = needed;
  }

  #read(): StreamMessage {
    let bytes = this.#buffer.subarray(this.#start, this.#size);
    if (this.#expectLabel) {
      const rest = stripLabel(bytes, this.#envelope.label, this.#envelope.acceptUnlabelled);
      if (!rest) throw new IncompleteError();
      this.#expectLabel = false;
      this.#start += bytes.length - rest.length;
      bytes = this.#buffer.subarray(this.#start, this.#size);
    }
    // Inside a push/pull the next byte is data, whatever it looks like.
    if (this.#pushPull) return this.#readPushPull(bytes, this.#pushPull, 0);
    if (bytes.length === 0) throw new IncompleteError();
    if (bytes[0] !== messageType.encrypt) {
      if (!isMessageType(bytes[0])) throw protocolError("an unknown message type in a stream", { type: bytes[0], reason: "foreign" });
      if (requiresEncryption(this.#envelope)) throw protocolError("a stream in plaintext, and a key is set", { reason: "decrypt" });
      return this.#readPlain(bytes);
    }
    if (this.#envelope.keys.length === 0) throw protocolError("an encrypted stream, and no key is set", { reason: "decrypt" });
    const plain = this.#decryptFrame(bytes);
    return complete(() => (plain[0] === messageType.compress ? this.#readCompressed(plain) : this.#readBody(plain)));
  }

  #readCompressed(bytes: Uint8Array): StreamMessage {
    const message = expandMessage(bytes.subarray(1), codecLimits.streamExpandedBytes);
    return complete(() => this.#readBody(message));
  }

  #decryptFrame(bytes: Buffer): Buffer {
    if (bytes.length < frameHeadBytes) throw new IncompleteError();
    const length = bytes.readUInt32BE(1);
    if (length > codecLimits.streamBytes) throw protocolError("a frame is too long", { sizeBytes: length });
    if (bytes.length < frameHeadBytes + length) throw new IncompleteError();
    const additional = Buffer.concat([bytes.subarray(0, frameHeadBytes), labelBytes(this.#envelope)]);
    return decrypt(bytes.subarray(frameHeadBytes, frameHeadBytes + length), this.#envelope.keys, additional);
  }

  #readPlain(bytes: Buffer): StreamMessage {
    if (bytes[0] === messageType.compress) return this.#readCompressed(bytes);
    this.#isFrameOpen = true;
    if (bytes[0] !== messageType.pushPull) return readBody(bytes, this.#hold);
    this.#pushPull = new PushPullParser(this.#hold);
    this.#start++;
    return this.#readPushPull(bytes, this.#pushPull, 1);
  }

  /** Of bytes that layers had to be taken off of. */
  #readBody(bytes: Uint8Array): StreamMessage {
    this.#isFrameOpen = true;
    this.#hold(bytes.length);
    return readBody(bytes, this.#hold);
  }

  #readPushPull(bytes: Buffer, parser: PushPullParser, offset: number): StreamMessage {
    // What is understood is not read again when more arrives.
    const base = this.#start - offset;
    return parser.read(new MsgpackReader(bytes, offset), (consumed) => {
      this.#start = base + consumed;
    });
  }
}

function readBody(bytes: Uint8Array, hold: (sizeBytes: number) => void): StreamMessage {
  const reader = new MsgpackReader(bytes, 1);
  switch (bytes[0]) {
    case messageType.ping:
      return readPing(reader);
    case messageType.ack:
      return readAck(reader);
    case messageType.error:
      return { type: "error", error: reader.struct(errorSchema).prose("Error") };
    case messageType.user: {
      const length = reader.struct(userSchema).unsigned("UserMsgLen", codecLimits.streamBytes);
      return { type: "user", payload: new Uint8Array(reader.raw(length)) };
    }
    case messageType.pushPull:
      return new PushPullParser(hold).read(reader, () => {});
    default:
      throw protocolError("an unknown message type in a stream", { type: bytes[0] });
  }
}
