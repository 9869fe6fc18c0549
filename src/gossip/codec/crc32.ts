import * as zlib from "node:zlib";

const table = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** Up to here the table is faster than a call into the platform, which not every Node 20 has. */
const shortBytes = 64;
const platformCrc32 = "crc32" in zlib ? zlib.crc32 : undefined;

/** CRC-32 (IEEE) of `bytes`. */
export function crc32(bytes: Uint8Array): number {
  if (platformCrc32 && bytes.length > shortBytes) return platformCrc32(bytes);
  let crc = 0xffffffff;
  for (let i = 0; i < bytes.length; i++) crc = (crc >>> 8) ^ (table[(crc ^ (bytes[i] as number)) & 0xff] as number);
  return (crc ^ 0xffffffff) >>> 0;
}
