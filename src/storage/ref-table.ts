import type { ByteString } from "../base/index.ts";

export interface RefEntry {
  readonly name: ByteString;
  readonly oid: string;
  /** What an annotated tag peels to. */
  readonly peeled?: string;
}

/** All refs of one generation, sorted by name byte by byte. Immutable. HEAD is not among them. */
export interface RefTable {
  readonly size: number;
  get(name: ByteString): RefEntry | undefined;
  /** Entries whose name starts with `prefix`, in order. */
  withPrefix(prefix: ByteString): Iterable<RefEntry>;
  /** The table as git's packed-refs file has it, with header and peeled lines. */
  toPackedRefs(): Uint8Array;
}
