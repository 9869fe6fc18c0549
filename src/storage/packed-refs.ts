import { type ByteString, CodedError } from "../base/index.ts";
import type { ObjectFormat } from "./generation.ts";
import type { RefEntry, RefTable } from "./ref-table.ts";

const header = Buffer.from("# pack-refs with: peeled fully-peeled sorted \n", "latin1");
const LF = 0x0a;
const SPACE = 0x20;
const CARET = 0x5e;
const DEL = 0x7f;

/** Most bytes of a ref table that this code reads or writes. */
export const maxRefTableBytes = 256 * 1024 * 1024;

/** Length of an object id in hex digits. */
export function oidLength(format: ObjectFormat): number {
  return format === "sha1" ? 40 : 64;
}

/** The id that means "absent". */
export function zeroOid(format: ObjectFormat): string {
  return "0".repeat(oidLength(format));
}

/**
 * A ref table in git's packed-refs text, kept as its bytes and the offset of each ref's line: 100,000 refs cost 400 KB beside the text, and
 * nothing is decoded before it is asked for.
 */
export class PackedRefTable implements RefTable {
  readonly size: number;
  readonly #bytes: Buffer;
  readonly #starts: Uint32Array;
  readonly #oidLength: number;

  /** For this file's functions; others parse. */
  constructor(bytes: Buffer, starts: Uint32Array, hexLength: number) {
    this.size = starts.length;
    this.#bytes = bytes;
    this.#starts = starts;
    this.#oidLength = hexLength;
  }

  get(name: ByteString): RefEntry | undefined {
    const at = this.lowerBound(name);
    if (at === this.size) return undefined;
    const entry = this.entry(at);
    return entry.name === name ? entry : undefined;
  }

  *withPrefix(prefix: ByteString): Generator<RefEntry> {
    for (let at = this.lowerBound(prefix); at < this.size; at++) {
      const entry = this.entry(at);
      if (!entry.name.startsWith(prefix)) return;
      yield entry;
    }
  }

  toPackedRefs(): Uint8Array {
    return this.#bytes;
  }

  /** Number of refs whose name is less than `name`. */
  lowerBound(name: ByteString): number {
    const wanted = Buffer.from(name, "latin1");
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const start = (this.#starts[middle] as number) + this.#oidLength + 1;
      if (this.#bytes.compare(wanted, 0, wanted.length, start, this.#bytes.indexOf(LF, start)) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The ref at a position below `size`. */
  entry(at: number): RefEntry {
    const start = this.#starts[at] as number;
    const nameStart = start + this.#oidLength + 1;
    const end = this.#bytes.indexOf(LF, nameStart);
    const oid = this.#bytes.toString("latin1", start, start + this.#oidLength);
    const name = this.#bytes.toString("latin1", nameStart, end);
    if (this.#bytes[end + 1] !== CARET) return { name, oid };
    return { name, oid, peeled: this.#bytes.toString("latin1", end + 2, end + 2 + this.#oidLength) };
  }

  /** The text of the refs at positions `from` to `to` (exclusive), with their peeled lines. */
  slice(from: number, to: number): Uint8Array {
    const offset = (at: number) => (at < this.size ? (this.#starts[at] as number) : this.#bytes.length);
    return this.#bytes.subarray(offset(from), offset(to));
  }
}

/** A table without refs. */
export function emptyRefTable(format: ObjectFormat): PackedRefTable {
  return new PackedRefTable(header, new Uint32Array(0), oidLength(format));
}

/**
 * Reads a table strictly: the exact header, lower-case ids of the format's length, printable names below `refs/`, strictly ascending, peeled
 * lines only behind a ref. No bytes at all are the empty table. Errors: `corrupt`.
 */
export function parseRefTable(bytes: Uint8Array, format: ObjectFormat): PackedRefTable {
  if (bytes.length === 0) return emptyRefTable(format);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  ensure(text.length <= maxRefTableBytes, "table is too large", 0);
  ensure(text.subarray(0, header.length).equals(header), "header is not the expected one", 0);
  ensure(text[text.length - 1] === LF, "last line is not complete", text.length);
  const hexLength = oidLength(format);
  const starts: number[] = [];
  let lastName = 0;
  let lastEnd = 0;
  let peelable = false;
  for (let at = header.length; at < text.length; ) {
    const end = text.indexOf(LF, at);
    if (text[at] === CARET) {
      ensure(peelable && end === at + 1 + hexLength && isHex(text, at + 1, end), "peeled line is malformed", at);
      peelable = false;
    } else {
      const name = at + hexLength + 1;
      ensure(end > name + 5 && text[name - 1] === SPACE && isHex(text, at, name - 1), "line is malformed", at);
      ensure(isPrintable(text, name, end) && text.toString("latin1", name, name + 5) === "refs/", "name is malformed", at);
      ensure(starts.length === 0 || text.compare(text, lastName, lastEnd, name, end) > 0, "names are not in order", at);
      starts.push(at);
      lastName = name;
      lastEnd = end;
      peelable = true;
    }
    at = end + 1;
  }
  return new PackedRefTable(text, Uint32Array.from(starts), hexLength);
}

/** Builds a table from parts of packed-refs text that are known to be in order. */
export function joinRefTable(parts: readonly Uint8Array[], format: ObjectFormat): PackedRefTable {
  const text = Buffer.concat([header, ...parts]);
  if (text.length > maxRefTableBytes) throw new CodedError("limit_exceeded", "the ref table is too large", { sizeBytes: text.length });
  const starts: number[] = [];
  for (let at = header.length; at < text.length; at = text.indexOf(LF, at) + 1) if (text[at] !== CARET) starts.push(at);
  return new PackedRefTable(text, Uint32Array.from(starts), oidLength(format));
}

/** One ref as packed-refs text. */
export function formatRef(entry: RefEntry): Uint8Array {
  return Buffer.from(`${entry.oid} ${entry.name}\n${entry.peeled === undefined ? "" : `^${entry.peeled}\n`}`, "latin1");
}

function isHex(text: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const byte = text[at] as number;
    if (!((byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x66))) return false;
  }
  return true;
}

function isPrintable(text: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const byte = text[at] as number;
    if (byte <= SPACE || byte === DEL) return false;
  }
  return true;
}

function ensure(condition: boolean, problem: string, offset: number): asserts condition {
  if (!condition) throw new CodedError("corrupt", "a ref table is damaged", { problem, offset });
}
