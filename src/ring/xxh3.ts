import { inputAddress, isShort, tableAddress, wasm, writeLong, writeShort } from "./wasm-memory.ts";

/** XXH3-64 of bytes, or of a string's UTF-8 bytes, with a 64-bit seed (default 0). */
export function xxh3(input: Uint8Array | string, seed = 0n): bigint {
  const hash = isShort(input)
    ? wasm.hash(inputAddress, writeShort(input), seed)
    : wasm.hash(tableAddress, writeLong(typeof input === "string" ? Buffer.from(input) : input), seed);
  return BigInt.asUintN(64, hash);
}
