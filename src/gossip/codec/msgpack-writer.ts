/** A value that a message field can have. `undefined` leaves the field out, `null` writes nil. */
export type FieldValue = number | boolean | string | Uint8Array | null | undefined;

/**
 * Writes a struct in the dialect that every memberlist version reads: a map with sorted keys, the raw family for
 * strings and bytes alike, the shortest unsigned integers.
 */
export function encodeStruct(fields: Readonly<Record<string, FieldValue>>): Buffer {
  const keys = Object.keys(fields)
    .filter((key) => fields[key] !== undefined)
    .sort();
  const parts: Uint8Array[] = [Buffer.of(0x80 | keys.length)];
  for (const key of keys) {
    pushRaw(parts, Buffer.from(key, "latin1"));
    pushValue(parts, fields[key] as Exclude<FieldValue, undefined>);
  }
  return Buffer.concat(parts);
}

function pushValue(parts: Uint8Array[], value: Exclude<FieldValue, undefined>): void {
  if (value === null) parts.push(Buffer.of(0xc0));
  else if (typeof value === "boolean") parts.push(Buffer.of(value ? 0xc3 : 0xc2));
  else if (typeof value === "number") parts.push(encodeUnsigned(value));
  else if (typeof value === "string") pushRaw(parts, Buffer.from(value, "utf8"));
  else pushRaw(parts, value);
}

function encodeUnsigned(value: number): Buffer {
  if (value < 0x80) return Buffer.of(value);
  if (value < 0x100) return Buffer.of(0xcc, value);
  if (value < 0x10000) return Buffer.of(0xcd, value >> 8, value & 0xff);
  const bytes = Buffer.alloc(5);
  bytes[0] = 0xce;
  bytes.writeUInt32BE(value, 1);
  return bytes;
}

function pushRaw(parts: Uint8Array[], bytes: Uint8Array): void {
  const { length } = bytes;
  if (length < 32) parts.push(Buffer.of(0xa0 | length));
  else if (length < 0x10000) parts.push(Buffer.of(0xda, length >> 8, length & 0xff));
  else {
    const head = Buffer.alloc(5);
    head[0] = 0xdb;
    head.writeUInt32BE(length, 1);
    parts.push(head);
  }
  parts.push(bytes);
}
