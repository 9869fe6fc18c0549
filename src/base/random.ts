import { randomBytes, randomFillSync } from "node:crypto";

/** Randomness as an argument. */
export interface Random {
  /** In [0, 1). */
  float(): number;
  /** An integer in [0, below). `below` is at least 1. */
  int(below: number): number;
  bytes(count: number): Uint8Array;
}

// Asking for a few bytes costs as much as asking for many.
const words = new Uint32Array(1024);
let nextWord = words.length;

function word(): number {
  if (nextWord === words.length) {
    randomFillSync(words);
    nextWord = 0;
  }
  return words[nextWord++] as number;
}

/** The platform's cryptographic randomness. */
export const systemRandom: Random = {
  float: () => ((word() >>> 5) * 2 ** 26 + (word() >>> 6)) * 2 ** -53,
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
