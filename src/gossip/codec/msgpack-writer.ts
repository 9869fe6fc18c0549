/** A value that a message field can have. `undefined` leaves the field out, `null` writes nil. */
export type FieldValue = number | boolean | string | Uint8Array | null | undefined;

const firstBytes = 1024;
/** A buffer that one large message needed is not kept. */
const keptBytes = 1 << 16;

/** The name of a field as it stands on the wire. */
export function encodeKey(name: string): Uint8Array {
  return Uint8Array.of(0xa0 | name.length, ...Buffer.from(name, "latin1"));
}

/**
 * Writes structs in the dialect that every memberlist version reads: maps with sorted keys, the raw family for strings and
 * bytes alike, the shortest unsigned integers. The caller writes the keys in their order.
 */
export class MsgpackWriter {
  #buffer = Buffer.allocUnsafeSlow(firstBytes);
  #size = 0;

  /** Begins anew. */
  start(): void {
    this.#size = 0;
  }

  /** What was written since {@link start}, as a copy. */
  finish(): Buffer {
    const bytes = Buffer.from(this.#buffer.subarray(0, this.#size));
    if (this.#buffer.length > keptBytes) this.#buffer = Buffer.allocUnsafeSlow(firstBytes);
    return bytes;
  }

  /** One byte as it is, such as the type of a message. */
  byte(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#size++] = value;
  }

  /** Opens a struct of at most 15 fields. */
  struct(fields: number): void {
    this.byte(0x80 | fields);
  }

  /** What {@link encodeKey} made. */
  key(key: Uint8Array): void {
    this.#reserve(key.length);
    // Faster than a copy by the platform for so few bytes.
    for (let i = 0; i < key.length; i++) this.#buffer[this.#size++] = key[i] as number;
  }

  nil(): void {
    this.byte(0xc0);
  }

  bool(value: boolean): void {
    this.byte(value ? 0xc3 : 0xc2);
  }

  unsigned(value: number): void {
    this.#reserve(5);
    if (value < 0x80) this.#buffer[this.#size++] = value;
    else if (value < 0x100) this.#tagged(0xcc, value, 1);
    else if (value < 0x10000) this.#tagged(0xcd, value, 2);
    else this.#tagged(0xce, value, 4);
  }

  text(value: string): void {
    const { length } = value;
    if (length < 32) {
      this.#reserve(1 + length);
      const start = this.#size + 1;
      let i = 0;
      for (; i < length; i++) {
        const code = value.charCodeAt(i);
        if (code >= 0x80) break;
        this.#buffer[start + i] = code;
      }
      if (i === length) {
        this.#buffer[this.#size] = 0xa0 | length;
        this.#size = start + length;
        return;
      }
    }
    this.bytes(Buffer.from(value, "utf8"));
  }

  bytes(value: Uint8Array): void {
    const { length } = value;
    this.#reserve(5);
    if (length < 32) this.#buffer[this.#size++] = 0xa0 | length;
    else if (length < 0x10000) this.#tagged(0xda, length, 2);
    else this.#tagged(0xdb, length, 4);
    this.raw(value);
  }

  /** Bytes as they are. */
  raw(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#buffer.set(value, this.#size);
    this.#size += value.length;
  }

  #tagged(tag: number, value: number, sizeBytes: 1 | 2 | 4): void {
    this.#buffer[this.#size++] = tag;
    for (let shift = (sizeBytes - 1) * 8; shift >= 0; shift -= 8) this.#buffer[this.#size++] = (value >>> shift) & 0xff;
  }

  #reserve(count: number): void {
    if (this.#size + count <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#size + count, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#size);
    this.#buffer = larger;
  }
}

/** Writes one struct of at most 15 fields, given in any order. */
export function encodeStruct(fields: Readonly<Record<string, FieldValue>>): Buffer {
  const writer = new MsgpackWriter();
  const keys = Object.keys(fields)
    .filter((key) => fields[key] !== undefined)
    .sort();
  writer.struct(keys.length);
  for (const key of keys) {
    const value = fields[key];
    writer.key(encodeKey(key));
    if (value === null || value === undefined) writer.nil();
    else if (typeof value === "boolean") writer.bool(value);
    else if (typeof value === "number") writer.unsigned(value);
    else if (typeof value === "string") writer.text(value);
    else writer.bytes(value);
  }
  return writer.finish();
}
