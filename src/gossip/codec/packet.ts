import { CodedError, type Random } from "../../base/index.ts";
import { splitCompound } from "./compound.ts";
import { expandMessage, shrinkMessage } from "./compress.ts";
import { crc32 } from "./crc32.ts";
import { decrypt, encrypt } from "./encryption.ts";
import { type Envelope, labelBytes, requiresEncryption, sendKey } from "./envelope.ts";
import { labelHeader, stripLabel } from "./label.ts";
import { codecLimits } from "./limits.ts";
import { isMessageType, messageType, type PacketMessage } from "./message.ts";
import { complete } from "./msgpack-reader.ts";
import { decodePacketMessage } from "./packet-message.ts";
import { protocolError } from "./protocol-error.ts";

export interface PacketLayers {
  /** Where that makes the packet smaller. */
  readonly compress: boolean;
  /** Only for receivers that are known to understand it. */
  readonly crc: boolean;
}

const crcBytes = 5;

/** Wraps one message, or one compound, for the wire. */
export function sealPacket(message: Uint8Array, envelope: Envelope, { compress, crc }: PacketLayers, random: Random): Uint8Array {
  let packet = (compress ? shrinkMessage(message) : undefined) ?? message;
  if (crc) {
    const checked = Buffer.allocUnsafe(crcBytes + packet.length);
    checked[0] = messageType.crc;
    checked.writeUInt32BE(crc32(packet), 1);
    checked.set(packet, crcBytes);
    packet = checked;
  }
  const key = sendKey(envelope);
  if (key) packet = encrypt(packet, key, labelBytes(envelope), random, envelope.encryptionFormat ?? 1);
  return envelope.label === "" ? packet : Buffer.concat([labelHeader(envelope.label), packet]);
}

/** What a packet held: its good messages in order, and the reasons why others were dropped. */
export interface OpenedPacket {
  readonly messages: readonly PacketMessage[];
  readonly problems: readonly CodedError[];
}

/** Unwraps any bytes. Damaged parts are reported and the others kept. Errors: `protocol_error` where the outside is wrong. */
export function openPacket(bytes: Uint8Array, envelope: Envelope): OpenedPacket {
  const unlabelled = stripLabel(bytes, envelope.label, envelope.acceptUnlabelled);
  if (!unlabelled || unlabelled.length === 0) throw protocolError("a packet is empty");
  const opener = new Opener();
  opener.open(checkCrc(envelope.keys.length > 0 ? decryptPacket(unlabelled, envelope) : unlabelled), 0);
  return opener;
}

/** Ciphertext and plaintext cannot be told apart by their first byte: what no key decrypts may be plaintext. */
function decryptPacket(bytes: Uint8Array, envelope: Envelope): Uint8Array {
  try {
    return decrypt(bytes, envelope.keys, labelBytes(envelope));
  } catch (error) {
    if (!CodedError.is(error, "protocol_error")) throw error;
    if (!isMessageType(bytes[0])) throw protocolError("a packet of another protocol", { reason: "foreign" });
    if (requiresEncryption(envelope)) throw error;
    return bytes;
  }
}

function checkCrc(bytes: Uint8Array): Uint8Array {
  if (bytes.length < crcBytes || bytes[0] !== messageType.crc) return bytes;
  const rest = bytes.subarray(crcBytes);
  const expected = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1);
  if (expected !== crc32(rest)) throw protocolError("a checksum is wrong");
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
      const budgetBytes = this.#expandable;
      // Also what fails may have expanded up to there: if that were free, each part of a packet could do so.
      this.#expandable = 0;
      const message = complete(() => expandMessage(bytes.subarray(1), budgetBytes));
      this.#expandable = budgetBytes - message.length;
      this.open(message, depth + 1);
    } else this.messages.push(decodePacketMessage(bytes));
  }
}
