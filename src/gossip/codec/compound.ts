import { messageType } from "./message.ts";
import { protocolError } from "./protocol-error.ts";

/** Bytes that a compound adds: its head, and for each message. */
export const compoundOverheadBytes = 2;
export const compoundPartOverheadBytes = 2;

const maxParts = 255;

/** Joins messages into as few packets as the format allows: one message stays bare, more than 255 make several. */
export function makeCompounds(messages: readonly Uint8Array[]): Uint8Array[] {
  if (messages.length === 1) return [...messages];
  const result: Uint8Array[] = [];
  for (let from = 0; from < messages.length; from += maxParts) {
    const parts = messages.slice(from, from + maxParts);
    const head = Buffer.alloc(compoundOverheadBytes + compoundPartOverheadBytes * parts.length);
    head[0] = messageType.compound;
    head[1] = parts.length;
    parts.forEach((part, index) => {
      head.writeUInt16BE(part.length, compoundOverheadBytes + compoundPartOverheadBytes * index);
    });
    result.push(Buffer.concat([head, ...parts]));
  }
  return result;
}

/** The complete parts of a compound, and how many are cut off. `bytes` starts behind the type byte. Errors: `protocol_error`. */
export function splitCompound(bytes: Uint8Array): { parts: Uint8Array[]; truncated: number } {
  const count = bytes[0];
  if (count === undefined) throw protocolError("a compound has no count");
  let offset = 1 + compoundPartOverheadBytes * count;
  if (bytes.length < offset) throw protocolError("a compound has too few lengths", { count });
  const parts: Uint8Array[] = [];
  for (let index = 0; index < count; index++) {
    const at = 1 + compoundPartOverheadBytes * index;
    const length = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
    if (offset + length > bytes.length) return { parts, truncated: count - index };
    parts.push(bytes.subarray(offset, offset + length));
    offset += length;
  }
  return { parts, truncated: 0 };
}
