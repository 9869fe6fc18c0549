import type { Random } from "../../src/base/index.ts";

/** Randomness that repeats for the same seed (splitmix32 over a 32-bit state). */
export function simRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  const float = () => next() / 2 ** 32;
  return { float, int: (below) => Math.floor(float() * below), bytes: (count) => Uint8Array.from({ length: count }, () => next() & 255) };
}
