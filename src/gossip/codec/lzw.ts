import { protocolError } from "./protocol-error.ts";

// LZW as GIF has it: bits packed from the least significant one, 8-bit literals, codes of 9 to 12 bits.
const clearCode = 256;
const endCode = 257;
const maxWidth = 12;
const lastCode = (1 << maxWidth) - 1;
const noCode = -1;

const hashBits = 14;

/** Which code stands for a code and the byte behind it. One for all encoders: none of them waits. */
class CodeTable {
  readonly #slots = new Uint32Array(1 << hashBits);
  readonly #used = new Uint16Array(1 << maxWidth);
  #count = 0;

  clear(): void {
    for (let i = 0; i < this.#count; i++) this.#slots[this.#used[i] as number] = 0;
    this.#count = 0;
  }

  /** The code of `key` (20 bits), or else -1 - the slot where it belongs. */
  find(key: number): number {
    for (let slot = ((key >>> 6) ^ key) & ((1 << hashBits) - 1); ; slot = (slot + 1) & ((1 << hashBits) - 1)) {
      const entry = this.#slots[slot] as number;
      if (entry === 0) return -1 - slot;
      if (entry >>> maxWidth === key) return entry & lastCode;
    }
  }

  add(slot: number, key: number, code: number): void {
    this.#slots[slot] = (key << maxWidth) | code;
    this.#used[this.#count++] = slot;
  }
}

const codes = new CodeTable();

/** Compresses `bytes`. Undefined where that takes more than `maxBytes`. */
export function lzwEncode(bytes: Uint8Array): Buffer;
export function lzwEncode(bytes: Uint8Array, maxBytes: number): Buffer | undefined;
export function lzwEncode(bytes: Uint8Array, maxBytes = Number.POSITIVE_INFINITY): Buffer | undefined {
  const writer = new CodeWriter(Math.min(Math.ceil((bytes.length * 3) / 2), maxBytes) + 16);
  codes.clear();
  writer.put(clearCode);
  let code = noCode;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if (code === noCode) {
      code = byte;
      continue;
    }
    const key = (code << 8) | byte;
    const found = codes.find(key);
    if (found >= 0) {
      code = found;
      continue;
    }
    writer.put(code);
    code = byte;
    if (writer.grow()) codes.add(-1 - found, key, writer.high);
    else codes.clear();
    if (writer.size > maxBytes) return undefined;
  }
  if (code !== noCode) {
    writer.put(code);
    writer.grow();
  }
  writer.put(endCode);
  const encoded = writer.finish();
  return encoded.length > maxBytes ? undefined : encoded;
}

/** Packs codes, and knows how wide the next one is. */
class CodeWriter {
  readonly #out: Buffer;
  size = 0;
  /** The newest code in use. */
  high: number = endCode;
  #width = 9;
  #bits = 0;
  #bitCount = 0;

  constructor(capacityBytes: number) {
    this.#out = Buffer.allocUnsafe(capacityBytes);
  }

  put(code: number): void {
    this.#bits |= code << this.#bitCount;
    this.#bitCount += this.#width;
    for (; this.#bitCount >= 8; this.#bitCount -= 8, this.#bits >>>= 8) this.#out[this.size++] = this.#bits & 0xff;
  }

  /** Takes the next code into use. False where there was none left and all start anew. */
  grow(): boolean {
    this.high++;
    if (this.high === 1 << this.#width) this.#width++;
    if (this.high !== lastCode) return true;
    this.put(clearCode);
    this.#width = 9;
    this.high = endCode;
    return false;
  }

  finish(): Buffer {
    if (this.#bitCount > 0) this.#out[this.size++] = this.#bits & 0xff;
    return this.#out.subarray(0, this.size);
  }
}

// Written before they are read, in each call.
const prefix = new Uint16Array(1 << maxWidth);
const suffix = new Uint8Array(1 << maxWidth);
const stack = new Uint8Array(1 << maxWidth);

/** Expands what {@link lzwEncode} or a Go peer made. Errors: `protocol_error`, also when more than `maxBytes` come out. */
export function lzwDecode(bytes: Uint8Array, maxBytes: number): Buffer {
  let out = Buffer.alloc(Math.min(maxBytes, Math.max(256, bytes.length * 4)));
  let size = 0;
  let position = 0;
  let bits = 0;
  let bitCount = 0;
  let width = 9;
  let high = endCode;
  let last = noCode;
  for (;;) {
    for (; bitCount < width; bitCount += 8) {
      const byte = bytes[position++];
      if (byte === undefined) throw protocolError("compressed data is truncated");
      bits |= byte << bitCount;
    }
    const code = bits & ((1 << width) - 1);
    bits >>>= width;
    bitCount -= width;
    if (code === endCode) return out.subarray(0, size);
    if (code === clearCode) {
      width = 9;
      high = endCode;
      last = noCode;
      continue;
    }
    if (code > high) throw protocolError("compressed data is damaged");
    const isNext = code === high && last !== noCode;
    let depth = 0;
    let walk = isNext ? last : code;
    for (; walk > endCode; walk = prefix[walk] as number) stack[depth++] = suffix[walk] as number;
    const first = walk;
    stack[depth++] = first;
    const length = depth + (isNext ? 1 : 0);
    if (size + length > maxBytes) throw protocolError("compressed data expands too far", { maxBytes });
    if (size + length > out.length) out = enlarge(out, Math.min(maxBytes, Math.max(out.length * 2, size + length)));
    while (depth > 0) out[size++] = stack[--depth] as number;
    if (isNext) out[size++] = first;
    if (last !== noCode) {
      suffix[high] = first;
      prefix[high] = last;
    }
    last = code;
    high++;
    if (high < 1 << width) continue;
    if (width < maxWidth) width++;
    else {
      last = noCode;
      high--;
    }
  }
}

function enlarge(bytes: Buffer, size: number): Buffer<ArrayBuffer> {
  const larger = Buffer.alloc(size);
  bytes.copy(larger);
  return larger;
}
