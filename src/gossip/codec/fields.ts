import { codecLimits } from "./limits.ts";
import { protocolError } from "./protocol-error.ts";
import type { Schema } from "./schema.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lossyUtf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const emptyBytes = new Uint8Array();
/** Longest text that is worth looking at byte by byte. */
const shortTextBytes = 64;

/** A decoded value. Floats, extensions and maps stand as "other": no field takes them, unknown fields may be them. */
export type RawValue = number | boolean | null | Uint8Array | "other" | RawValue[];

/** Typed access to a decoded struct. An absent field has the zero value of its type. Errors: `protocol_error`. */
export class Fields {
  readonly #schema: Schema;
  readonly #values: readonly (RawValue | undefined)[];

  constructor(schema: Schema, values: readonly (RawValue | undefined)[]) {
    this.#schema = schema;
    this.#values = values;
  }

  unsigned(name: string, max: number): number {
    const value = this.#value(name) ?? 0;
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0 || value > max) {
      throw protocolError("a field is not an integer of its range", { field: name });
    }
    return value;
  }

  u32(name: string): number {
    return this.unsigned(name, 0xffffffff);
  }

  u16(name: string): number {
    return this.unsigned(name, 0xffff);
  }

  bool(name: string): boolean {
    const value = this.#value(name) ?? false;
    if (typeof value !== "boolean") throw protocolError("a field is not a boolean", { field: name });
    return value;
  }

  /** A raw value, or an array of bytes: a view of the packet. */
  view(name: string): Uint8Array {
    const value = this.#value(name) ?? emptyBytes;
    if (value instanceof Uint8Array) return value;
    if (Array.isArray(value) && value.every(isByte)) return Uint8Array.from(value as number[]);
    throw protocolError("a field is not a byte string", { field: name });
  }

  /** As {@link view}, but a copy, so that what is kept does not keep the packet. */
  bytes(name: string): Uint8Array {
    const view = this.view(name);
    return view.length === 0 ? emptyBytes : new Uint8Array(view);
  }

  text(name: string): string {
    const value = this.#raw(name);
    if (value.length > codecLimits.textBytes) throw protocolError("a string is too long", { field: name });
    if (value instanceof Buffer && isShortAscii(value)) return value.toString("latin1");
    try {
      return utf8.decode(value);
    } catch {
      throw protocolError("a string is not UTF-8", { field: name });
    }
  }

  /** Text for people: what is too long is cut, what is no UTF-8 replaced. */
  prose(name: string): string {
    return lossyUtf8.decode(this.#raw(name).subarray(0, codecLimits.textBytes));
  }

  #raw(name: string): Uint8Array {
    const value = this.#value(name) ?? emptyBytes;
    if (!(value instanceof Uint8Array)) throw protocolError("a field is not a string", { field: name });
    return value;
  }

  #value(name: string): RawValue | undefined {
    return this.#values[this.#schema.place(name)];
  }
}

function isShortAscii(bytes: Uint8Array): boolean {
  if (bytes.length > shortTextBytes) return false;
  for (let i = 0; i < bytes.length; i++) if ((bytes[i] as number) >= 0x80) return false;
  return true;
}

function isByte(value: RawValue): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255;
}
