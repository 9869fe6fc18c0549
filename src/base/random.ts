import { randomBytes } from "node:crypto";

/** Randomness as an argument. */
export interface Random {
  /** In [0, 1). */
  float(): number;
  /** An integer in [0, below). `below` is at least 1. */
  int(below: number): number;
  bytes(count: number): Uint8Array;
}

/** The platform's cryptographic randomness. */
export const systemRandom: Random = {
  float: () => Number(randomBytes(8).readBigUInt64LE() >> 11n) * 2 ** -53,
  int: (below) => Math.floor(systemRandom.float() * below),
  bytes: (count) => randomBytes(count),
};

/** `byteCount` random bytes in lower-case hexadecimal. */
export function randomHex(random: Random, byteCount: number): string {
  return Buffer.from(random.bytes(byteCount)).toString("hex");
}

/** Shuffles `items` in place (Fisher-Yates). */
export function shuffle<T>(random: Random, items: T[]): T[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = random.int(i + 1);
    [items[i], items[j]] = [items[j] as T, items[i] as T];
  }
  return items;
}
