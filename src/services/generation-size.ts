import type { Generation } from "../storage/index.ts";

/** Bytes of everything that a generation's manifest names. */
export function generationSizeBytes(generation: Generation): number {
  let sizeBytes = generation.inlineRefTable.length;
  for (const table of generation.refTables) sizeBytes += table.sizeBytes;
  for (const { pack, index, reverseIndex, bitmap } of generation.packs) {
    sizeBytes += pack.sizeBytes + index.sizeBytes + (reverseIndex?.sizeBytes ?? 0) + (bitmap?.sizeBytes ?? 0);
  }
  return sizeBytes;
}
