/**
 * Bytes as a string, one character per byte (latin1). Names of refs and paths are bytes, not text; in this form they
 * compare, sort and key maps byte by byte.
 */
export type ByteString = string;

/** UTF-8 text to the bytes it stands for. */
export function toByteString(text: string): ByteString {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** For people and logs: the bytes read as UTF-8, with U+FFFD for what is not. */
export function displayText(bytes: ByteString): string {
  return Buffer.from(bytes, "latin1").toString("utf8");
}

/** Orders strings by their UTF-8 bytes (JavaScript's own order differs above U+D7FF). */
export function compareUtf8(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"));
}

/** True where both have the same bytes; quick for the few that addresses and versions have. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  if (a.length > 64) return Buffer.compare(a, b) === 0;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
