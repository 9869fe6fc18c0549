import { type FileHandle, open } from "node:fs/promises";
import { CodedError } from "../base/index.ts";
import type { GitObject, ReceivedPack } from "./git.ts";
import type { RepositoryView } from "./repository-view.ts";

const headerBytes = 8;
const fanoutBytes = 1024;
/** Longer chains of deltas than git itself makes. */
const maxChain = 10_000;

/** Answers "is this object in the pack, and of which type" from the files of one pack, without a child. */
export class PackIndex implements AsyncDisposable {
  readonly #index: FileHandle;
  readonly #pack: FileHandle;
  readonly #hashBytes: number;
  readonly #fanout: Buffer;

  private constructor(index: FileHandle, pack: FileHandle, hashBytes: number, fanout: Buffer) {
    this.#index = index;
    this.#pack = pack;
    this.#hashBytes = hashBytes;
    this.#fanout = fanout;
  }

  /** Errors: `corrupt` where the index is none of version 2. */
  static async open(files: ReceivedPack, objectFormat: RepositoryView["objectFormat"]): Promise<PackIndex> {
    const index = await open(files.indexFile, "r");
    try {
      const head = await readAt(index, 0, headerBytes + fanoutBytes);
      if (head.toString("latin1", 0, headerBytes) !== "\xfftOc\0\0\0\x02") throw new CodedError("corrupt", "not a pack index of version 2");
      const pack = await open(files.packFile, "r");
      return new PackIndex(index, pack, objectFormat === "sha1" ? 20 : 32, head.subarray(headerBytes));
    } catch (error) {
      await index.close();
      throw error;
    }
  }

  /** Undefined where the pack does not have the object. Errors: `corrupt`. */
  async typeOf(oid: string): Promise<GitObject["type"] | undefined> {
    let offset = await this.#find(Buffer.from(oid, "hex"));
    for (let step = 0; offset !== undefined && step < maxChain; step++) {
      // At most 10 bytes of size, then at most 10 of offset or one object id.
      const entry = await readAt(this.#pack, offset, 10 + this.#hashBytes);
      const kind = ((entry[0] ?? 0) >> 4) & 7;
      const type = ([undefined, "commit", "tree", "blob", "tag"] as const)[kind];
      if (type) return type;
      let at = 0;
      while (((entry[at++] ?? 0) & 0x80) !== 0);
      if (kind === 6) offset -= backwardOffset(entry, at);
      else if (kind === 7) offset = await this.#find(entry.subarray(at, at + this.#hashBytes));
      else throw new CodedError("corrupt", "unknown kind of pack entry", { kind });
    }
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#index.close(), this.#pack.close()]);
  }

  async #find(oid: Buffer): Promise<number | undefined> {
    const first = oid[0] ?? 0;
    let low = first === 0 ? 0 : this.#fanout.readUInt32BE((first - 1) * 4);
    let high = this.#fanout.readUInt32BE(first * 4);
    const names = headerBytes + fanoutBytes;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = Buffer.compare(await readAt(this.#index, names + middle * this.#hashBytes, this.#hashBytes), oid);
      if (order === 0) return await this.#offset(middle);
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return undefined;
  }

  async #offset(position: number): Promise<number> {
    const count = this.#fanout.readUInt32BE(255 * 4);
    const offsets = headerBytes + fanoutBytes + count * (this.#hashBytes + 4);
    const value = (await readAt(this.#index, offsets + position * 4, 4)).readUInt32BE(0);
    if (value < 0x80000000) return value;
    const large = await readAt(this.#index, offsets + count * 4 + (value - 0x80000000) * 8, 8);
    return Number(large.readBigUInt64BE(0));
  }
}

function backwardOffset(entry: Buffer, start: number): number {
  let at = start;
  let byte = entry[at++] ?? 0;
  let value = byte & 0x7f;
  while ((byte & 0x80) !== 0) {
    byte = entry[at++] ?? 0;
    value = (value + 1) * 128 + (byte & 0x7f);
  }
  return value;
}

/** Fewer bytes at the end of the file. */
async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  await file.read(buffer, 0, length, position);
  return buffer;
}
