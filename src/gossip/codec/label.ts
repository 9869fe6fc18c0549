import { messageType } from "./message.ts";
import { protocolError } from "./protocol-error.ts";

/** Longest label in bytes. */
export const maxLabelBytes = 255;

/** What stands before every packet and stream of a labelled cluster; empty for the empty label. */
export function labelHeader(label: string): Buffer {
  const bytes = Buffer.from(label, "utf8");
  return bytes.length === 0 ? bytes : Buffer.concat([Buffer.of(messageType.label, bytes.length), bytes]);
}

/** Length of {@link labelHeader}. */
export function labelHeaderBytes(label: string): number {
  return label === "" ? 0 : 2 + Buffer.byteLength(label);
}

/**
 * Takes the label off. Undefined where `bytes` end before the header does.
 * Errors: `protocol_error` where it is not `label`, or one is not expected, or missing and not `optional`.
 */
export function stripLabel(bytes: Uint8Array, label: string, optional = false): Uint8Array | undefined {
  if (bytes.length === 0) return undefined;
  if (bytes[0] !== messageType.label) {
    if (label !== "" && !optional) throw protocolError("the label is missing", { reason: "label" });
    return bytes;
  }
  const length = bytes[1];
  if (length === undefined) return undefined;
  if (length === 0) throw protocolError("the label is empty", { reason: "label" });
  if (bytes.length < 2 + length) return undefined;
  if (!Buffer.from(label, "utf8").equals(bytes.subarray(2, 2 + length))) throw protocolError("another label", { reason: "label" });
  return bytes.subarray(2 + length);
}
