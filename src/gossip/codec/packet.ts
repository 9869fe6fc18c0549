import { CodedError, type Random } from "../../base/index.ts";
import { splitCompound } from "./compound.ts";
import { compressMessage, expandMessage } from "./compress.ts";
import { crc32 } from "./crc32.ts";
import { decrypt, encrypt, encryptionOverheadBytes } from "./encryption.ts";
import { labelHeader, stripLabel } from "./label.ts";
import { codecLimits } from "./limits.ts";
import { messageType, type PacketMessage } from "./message.ts";
import { complete } from "./msgpack-reader.ts";
import { decodePacketMessage } from "./packet-message.ts";
import { protocolError } from "./protocol-error.ts";

/** What both ends of a cluster must share. */
export interface Envelope {
  /** "" = none. */
  readonly label: string;
  /** The first encrypts, all decrypt. Empty = plaintext. */
  readonly keys: readonly Uint8Array[];
}

export interface SealOptions extends Envelope {
  readonly compress: boolean;
  /** Only for receivers that are known to understand it. */
  readonly crc: boolean;
}

const crcBytes = 5;

/** Bytes that {@link sealPacket} may add to a message. */
export function packetOverheadBytes(envelope: Envelope): number {
  return labelHeader(envelope.label).length + (envelope.keys.length > 0 ? encryptionOverheadBytes : 0) + crcBytes;
}

/** Wraps one message, or one compound, for the wire. */
export function sealPacket(message: Uint8Array, options: SealOptions, random: Random): Uint8Array {
  let packet = message;
  if (options.compress) {
    const smaller = compressMessage(packet);
    if (smaller.length < packet.length) packet = smaller;
  }
  if (options.crc) {
    const head = Buffer.alloc(crcBytes);
    head[0] = messageType.crc;
    head.writeUInt32BE(crc32(packet), 1);
    packet = Buffer.concat([head, packet]);
  }
  const [key] = options.keys;
  if (key) packet = encrypt(packet, key, Buffer.from(options.label, "utf8"), random);
  return options.label === "" ? packet : Buffer.concat([labelHeader(options.label), packet]);
}

/** What a packet held: its good messages in order, and the reasons why others were dropped. */
export interface OpenedPacket {
  readonly messages: readonly PacketMessage[];
  readonly problems: readonly CodedError[];
}

/** Unwraps any bytes. Damaged parts are reported and the others kept. Errors: `protocol_error` where the outside is wrong. */
export function openPacket(bytes: Uint8Array, envelope: Envelope): OpenedPacket {
  const unlabelled = stripLabel(bytes, envelope.label);
  if (!unlabelled || unlabelled.length === 0) throw protocolError("a packet is empty");
  const plain = envelope.keys.length > 0 ? decrypt(unlabelled, envelope.keys, Buffer.from(envelope.label, "utf8")) : unlabelled;
  const opener = new Opener();
  opener.open(checkCrc(plain), 0);
  return opener;
}

function checkCrc(bytes: Uint8Array): Uint8Array {
  if (bytes.length < crcBytes || bytes[0] !== messageType.crc) return bytes;
  const rest = bytes.subarray(crcBytes);
  if (Buffer.from(bytes).readUInt32BE(1) !== crc32(rest)) throw protocolError("a checksum is wrong");
  return rest;
}

class Opener implements OpenedPacket {
  readonly messages: PacketMessage[] = [];
  readonly problems: CodedError[] = [];
  #expandable: number = codecLimits.packetExpandedBytes;
  #visits: number = codecLimits.messagesPerPacket;

  open(bytes: Uint8Array, depth: number): void {
    try {
      if (--this.#visits < 0) throw protocolError("a packet has too many messages");
      if (depth > codecLimits.depth) throw protocolError("messages are nested too deeply");
      this.#openLayer(bytes, depth);
    } catch (error) {
      if (!CodedError.is(error, "protocol_error")) throw error;
      // One report is enough: a hostile packet could make thousands.
      if (this.problems.length < 8) this.problems.push(error);
    }
  }

  #openLayer(bytes: Uint8Array, depth: number): void {
    if (bytes[0] === messageType.compound) {
      const { parts, truncated } = splitCompound(bytes.subarray(1));
      for (const part of parts) {
        if (this.#visits <= 0) break;
        this.open(part, depth + 1);
      }
      if (truncated > 0) throw protocolError("a compound is truncated", { truncated });
    } else if (bytes[0] === messageType.compress) {
      const message = complete(() => expandMessage(bytes.subarray(1), this.#expandable));
      this.#expandable -= message.length;
      this.open(message, depth + 1);
    } else this.messages.push(decodePacketMessage(bytes));
  }
}
