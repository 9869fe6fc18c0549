import { codecLimits } from "./limits.ts";
import type { RawValue } from "./msgpack-reader.ts";
import { protocolError } from "./protocol-error.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Typed access to a decoded struct. An absent field has the zero value of its type. Errors: `protocol_error`. */
export class Fields {
  readonly #values: Map<string, RawValue>;

  constructor(values: Map<string, RawValue>) {
    this.#values = values;
  }

  unsigned(name: string, max: number): number {
    const value = this.#values.get(name) ?? 0;
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
    const value = this.#values.get(name) ?? false;
    if (typeof value !== "boolean") throw protocolError("a field is not a boolean", { field: name });
    return value;
  }

  /** A raw value, or an array of bytes. */
  bytes(name: string): Uint8Array {
    const value = this.#values.get(name) ?? emptyBytes;
    if (value instanceof Uint8Array) return value;
    if (Array.isArray(value) && value.every(isByte)) return Uint8Array.from(value as number[]);
    throw protocolError("a field is not a byte string", { field: name });
  }

  text(name: string): string {
    const value = this.#values.get(name) ?? emptyBytes;
    if (!(value instanceof Uint8Array)) throw protocolError("a field is not a string", { field: name });
    if (value.length > codecLimits.textBytes) throw protocolError("a string is too long", { field: name });
    try {
      return utf8.decode(value);
    } catch {
      throw protocolError("a string is not UTF-8", { field: name });
    }
  }
}

const emptyBytes = new Uint8Array();

function isByte(value: RawValue): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255;
}
