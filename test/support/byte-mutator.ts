import type { Random } from "../../src/base/index.ts";

export interface ByteMutatorOptions {
  /** Pieces that mean something to the decoder; they are put in as they are. */
  readonly dictionary: readonly Uint8Array[];
  /** Longer results are cut. */
  readonly maxBytes: number;
}

const interesting = [0, 1, 4, 7, 8, 9, 12, 0x7f, 0x80, 0x9f, 0xa0, 0xc0, 0xc4, 0xcc, 0xce, 0xcf, 0xd9, 0xdb, 0xdd, 0xdf, 0xf4, 0xff];
const lengths = [0, 1, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0xffffffff];

/** Changes bytes as a hostile or broken peer might: flips, cuts, doubles, splices, odd lengths and words of the protocol. */
export class ByteMutator {
  readonly #options: ByteMutatorOptions;
  readonly #random: Random;

  constructor(options: ByteMutatorOptions, random: Random) {
    this.#options = options;
    this.#random = random;
  }

  /** `base` with a few changes, perhaps continued by a part of `other`. Never changes its arguments. */
  mutate(base: Uint8Array, other: Uint8Array): Buffer {
    let bytes: Buffer = Buffer.from(base);
    for (let changes = 1 + this.#random.int(4); changes > 0; changes--) bytes = this.#change(bytes, other);
    return bytes.subarray(0, this.#options.maxBytes);
  }

  #change(bytes: Buffer, other: Uint8Array): Buffer {
    const random = this.#random;
    const at = random.int(bytes.length + 1);
    const length = Math.min(bytes.length - at, 1 + random.int(random.int(4) === 0 ? 64 : 4));
    switch (random.int(10)) {
      case 0:
        if (at < bytes.length) bytes[at] = (bytes[at] as number) ^ (1 << random.int(8));
        return bytes;
      case 1:
        if (at < bytes.length) bytes[at] = random.int(256);
        return bytes;
      case 2:
        if (at < bytes.length) bytes[at] = interesting[random.int(interesting.length)] as number;
        return bytes;
      case 3:
        return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
      case 4:
        return Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)]);
      case 5:
        return bytes.subarray(0, at);
      case 6:
        return this.#insert(bytes, at, random.bytes(1 + random.int(8)));
      case 7:
        return this.#insert(bytes, at, this.#options.dictionary[random.int(this.#options.dictionary.length)] ?? Buffer.of());
      case 8:
        return Buffer.concat([bytes.subarray(0, at), other.subarray(random.int(other.length + 1))]);
      default:
        return this.#overwriteLength(bytes, at);
    }
  }

  #insert(bytes: Buffer, at: number, piece: Uint8Array): Buffer {
    // Half of the time in the place of what stands there, so that lengths stay right.
    return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(this.#random.int(2) === 0 ? at : at + piece.length)]);
  }

  #overwriteLength(bytes: Buffer, at: number): Buffer {
    const value = lengths[this.#random.int(lengths.length)] as number;
    if (this.#random.int(2) === 0 && at + 4 <= bytes.length) bytes.writeUInt32BE(value, at);
    else if (at + 2 <= bytes.length) bytes.writeUInt16BE(value & 0xffff, at);
    return bytes;
  }
}
