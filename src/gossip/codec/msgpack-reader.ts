import { codecLimits } from "./limits.ts";
import { protocolError } from "./protocol-error.ts";

/** A decoded value. Floats, extensions and maps stand as "other": no field takes them, unknown fields may be them. */
export type RawValue = number | boolean | null | Uint8Array | "other" | RawValue[];

/** Thrown inside the codec where the bytes end early; callers turn it into "wait for more" or `protocol_error`. */
export class IncompleteError extends Error {
  constructor() {
    super("the bytes end inside a value");
  }
}

/** Runs `decode` on bytes that are known to be all there is. */
export function complete<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof IncompleteError) throw protocolError("a message is truncated");
    throw error;
  }
}

/** Reads msgpack values of every kind that memberlist's decoders accept, within {@link codecLimits}. */
export class MsgpackReader {
  readonly #bytes: Buffer;
  #offset: number;
  #values = 0;

  constructor(bytes: Uint8Array, offset = 0) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#offset = offset;
  }

  /** Where the next value starts. */
  get offset(): number {
    return this.#offset;
  }

  /** A struct: a map by field name, or an array in the order of `fields`. Fields that are missing or nil are absent. */
  struct(fields: readonly string[]): Map<string, RawValue> {
    this.#values = 0;
    const tag = this.#byte();
    const result = new Map<string, RawValue>();
    const mapSize = this.#containerSize(tag, 0x80, 0xde);
    if (mapSize !== undefined) {
      for (let i = 0; i < mapSize; i++) {
        const key = this.#value(1);
        const value = this.#value(1);
        if (!(key instanceof Uint8Array)) throw protocolError("a field name is not a string");
        if (value !== null) result.set(Buffer.from(key).toString("latin1"), value);
      }
      return result;
    }
    const arraySize = this.#containerSize(tag, 0x90, 0xdc);
    if (arraySize === undefined) throw protocolError("a message body is not a struct");
    for (let i = 0; i < arraySize; i++) {
      const value = this.#value(1);
      const field = fields[i];
      if (field !== undefined && value !== null) result.set(field, value);
    }
    return result;
  }

  /** `count` bytes as they are. */
  raw(count: number): Uint8Array {
    if (count > codecLimits.streamBytes * 2) throw protocolError("a value is too long", { sizeBytes: count });
    if (this.#offset + count > this.#bytes.length) throw new IncompleteError();
    const bytes = this.#bytes.subarray(this.#offset, this.#offset + count);
    this.#offset += count;
    return bytes;
  }

  #value(depth: number): RawValue {
    if (++this.#values > codecLimits.valuesPerObject) throw protocolError("an object has too many values");
    if (depth > codecLimits.depth) throw protocolError("an object is nested too deeply");
    const tag = this.#byte();
    if (tag < 0x80) return tag;
    if (tag >= 0xe0) return tag - 0x100;
    if (tag >= 0xa0 && tag < 0xc0) return this.raw(tag & 0x1f);
    const map = this.#containerSize(tag, 0x80, 0xde);
    if (map !== undefined) {
      for (let i = 0; i < map * 2; i++) this.#value(depth + 1);
      return "other";
    }
    const array = this.#containerSize(tag, 0x90, 0xdc);
    if (array !== undefined) return Array.from({ length: array }, () => this.#value(depth + 1));
    return this.#tagged(tag);
  }

  #tagged(tag: number): RawValue {
    switch (tag) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xc4:
      case 0xd9:
        return this.raw(this.#unsigned(1));
      case 0xc5:
      case 0xda:
        return this.raw(this.#unsigned(2));
      case 0xc6:
      case 0xdb:
        return this.raw(this.#unsigned(4));
      case 0xcc:
        return this.#unsigned(1);
      case 0xcd:
        return this.#unsigned(2);
      case 0xce:
        return this.#unsigned(4);
      case 0xcf:
        return Number(Buffer.from(this.raw(8)).readBigUInt64BE());
      case 0xd0:
        return Buffer.from(this.raw(1)).readInt8();
      case 0xd1:
        return Buffer.from(this.raw(2)).readInt16BE();
      case 0xd2:
        return Buffer.from(this.raw(4)).readInt32BE();
      case 0xd3:
        return Number(Buffer.from(this.raw(8)).readBigInt64BE());
      default:
        this.#skipOther(tag);
        return "other";
    }
  }

  #skipOther(tag: number): void {
    if (tag === 0xca) this.raw(4);
    else if (tag === 0xcb) this.raw(8);
    else if (tag >= 0xd4 && tag <= 0xd8) this.raw(1 + (1 << (tag - 0xd4)));
    else if (tag >= 0xc7 && tag <= 0xc9) this.raw(1 + this.#unsigned(1 << (tag - 0xc7)));
    else throw protocolError("an unknown msgpack type", { tag });
  }

  #containerSize(tag: number, fixed: number, wide: number): number | undefined {
    const size = (tag & 0xf0) === fixed ? tag & 0x0f : tag === wide ? this.#unsigned(2) : tag === wide + 1 ? this.#unsigned(4) : undefined;
    if (size !== undefined && size > codecLimits.valuesPerObject) throw protocolError("an object has too many values", { count: size });
    return size;
  }

  #unsigned(size: number): number {
    return Buffer.from(this.raw(size)).readUIntBE(0, size);
  }

  #byte(): number {
    const byte = this.#bytes[this.#offset];
    if (byte === undefined) throw new IncompleteError();
    this.#offset++;
    return byte;
  }
}
