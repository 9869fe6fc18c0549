import { Fields, type RawValue } from "./fields.ts";
import { codecLimits } from "./limits.ts";
import { protocolError } from "./protocol-error.ts";
import type { Schema } from "./schema.ts";

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
    this.#bytes = bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#offset = offset;
  }

  /** Where the next value starts. */
  get offset(): number {
    return this.#offset;
  }

  /** A struct: a map by field name, or an array in the order of the schema. Fields that are missing or nil are absent. */
  struct(schema: Schema): Fields {
    this.#values = 0;
    const tag = this.#byte();
    const values = new Array<RawValue | undefined>(schema.names.length).fill(undefined);
    const mapSize = this.#containerSize(tag, 0x80, 0xde);
    if (mapSize !== undefined) {
      for (let i = 0, sent = 0; i < mapSize; i++) {
        const key = this.#value(1);
        if (!(key instanceof Uint8Array)) throw protocolError("a field name is not a string");
        const guess = schema.sentOrder[sent];
        const place = schema.find(key, guess);
        if (place === guess) sent++;
        const value = this.#value(1);
        if (place >= 0 && value !== null) values[place] = value;
      }
      return new Fields(schema, values);
    }
    const arraySize = this.#containerSize(tag, 0x90, 0xdc);
    if (arraySize === undefined) throw protocolError("a message body is not a struct");
    for (let i = 0; i < arraySize; i++) {
      const value = this.#value(1);
      if (i < values.length && value !== null) values[i] = value;
    }
    return new Fields(schema, values);
  }

  /** `count` bytes as they are. */
  raw(count: number): Uint8Array {
    if (count > codecLimits.streamBytes * 2) throw protocolError("a value is too long", { sizeBytes: count });
    return this.#bytes.subarray(this.#skip(count), this.#offset);
  }

  #value(depth: number): RawValue {
    if (++this.#values > codecLimits.valuesPerObject) throw protocolError("an object has too many values");
    if (depth > codecLimits.depth) throw protocolError("an object is nested too deeply");
    const tag = this.#byte();
    if (tag < 0x80) return tag;
    if (tag >= 0xe0) return tag - 0x100;
    if (tag >= 0xa0 && tag < 0xc0) return this.raw(tag & 0x1f);
    if (tag >= 0xc0 && tag < 0xdc) return this.#tagged(tag);
    const map = this.#containerSize(tag, 0x80, 0xde);
    if (map !== undefined) {
      for (let i = 0; i < map * 2; i++) this.#value(depth + 1);
      return "other";
    }
    const array = this.#containerSize(tag, 0x90, 0xdc) as number;
    return Array.from({ length: array }, () => this.#value(depth + 1));
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
        return this.#unsigned(4) * 2 ** 32 + this.#unsigned(4);
      case 0xd0:
        return (this.#unsigned(1) << 24) >> 24;
      case 0xd1:
        return (this.#unsigned(2) << 16) >> 16;
      case 0xd2:
        return this.#unsigned(4) | 0;
      case 0xd3:
        return (this.#unsigned(4) | 0) * 2 ** 32 + this.#unsigned(4);
      default:
        this.#skipOther(tag);
        return "other";
    }
  }

  #skipOther(tag: number): void {
    if (tag === 0xca) this.#skip(4);
    else if (tag === 0xcb) this.#skip(8);
    else if (tag >= 0xd4 && tag <= 0xd8) this.#skip(1 + (1 << (tag - 0xd4)));
    else if (tag >= 0xc7 && tag <= 0xc9) this.raw(1 + this.#unsigned((1 << (tag - 0xc7)) as 1 | 2 | 4));
    else throw protocolError("an unknown msgpack type", { tag });
  }

  #containerSize(tag: number, fixed: number, wide: number): number | undefined {
    const size = (tag & 0xf0) === fixed ? tag & 0x0f : tag === wide ? this.#unsigned(2) : tag === wide + 1 ? this.#unsigned(4) : undefined;
    if (size !== undefined && size > codecLimits.valuesPerObject) throw protocolError("an object has too many values", { count: size });
    return size;
  }

  #unsigned(sizeBytes: 1 | 2 | 4): number {
    const start = this.#skip(sizeBytes);
    let value = 0;
    for (let i = start; i < this.#offset; i++) value = (value << 8) | (this.#bytes[i] as number);
    return value >>> 0;
  }

  #byte(): number {
    return this.#bytes[this.#skip(1)] as number;
  }

  /** Moves on and returns where it was. */
  #skip(count: number): number {
    const start = this.#offset;
    if (start + count > this.#bytes.length) throw new IncompleteError();
    this.#offset = start + count;
    return start;
  }
}
