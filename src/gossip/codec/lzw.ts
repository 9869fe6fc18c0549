import { protocolError } from "./protocol-error.ts";

// LZW as GIF has it: bits packed from the least significant one, 8-bit literals, codes of 9 to 12 bits.
const clearCode = 256;
const endCode = 257;
const maxWidth = 12;
const lastCode = (1 << maxWidth) - 1;
const noCode = -1;

/** Compresses `bytes`. */
export function lzwEncode(bytes: Uint8Array): Buffer {
  const out = Buffer.alloc(Math.ceil((bytes.length * 3) / 2) + 16);
  let size = 0;
  let bits = 0;
  let bitCount = 0;
  let width = 9;
  let high = endCode;
  let table = new Map<number, number>();
  const put = (code: number) => {
    bits |= code << bitCount;
    for (bitCount += width; bitCount >= 8; bitCount -= 8, bits >>>= 8) out[size++] = bits & 0xff;
  };
  /** False where the table was full and starts anew. */
  const grow = (): boolean => {
    high++;
    if (high === 1 << width) width++;
    if (high !== lastCode) return true;
    put(clearCode);
    width = 9;
    high = endCode;
    table = new Map();
    return false;
  };
  put(clearCode);
  let code = noCode;
  for (const byte of bytes) {
    if (code === noCode) {
      code = byte;
      continue;
    }
    const key = (code << 8) | byte;
    const known = table.get(key);
    if (known !== undefined) {
      code = known;
      continue;
    }
    put(code);
    code = byte;
    if (grow()) table.set(key, high);
  }
  if (code !== noCode) {
    put(code);
    grow();
  }
  put(endCode);
  if (bitCount > 0) out[size++] = bits & 0xff;
  return out.subarray(0, size);
}

/** Expands what {@link lzwEncode} or a Go peer made. Errors: `protocol_error`, also when more than `maxBytes` come out. */
export function lzwDecode(bytes: Uint8Array, maxBytes: number): Buffer {
  const prefix = new Uint16Array(1 << maxWidth);
  const suffix = new Uint8Array(1 << maxWidth);
  const stack = new Uint8Array(1 << maxWidth);
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
