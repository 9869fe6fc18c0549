import fc from "fast-check";
import { createXXHash3 } from "hash-wasm";
import { expect, test } from "vitest";
import { xxh3 } from "../../../src/ring/index.ts";

async function oracle(bytes: Uint8Array, seed: bigint): Promise<bigint> {
  const hasher = await createXXHash3(Number(seed & 0xffffffffn), Number(seed >> 32n));
  return BigInt(`0x${hasher.init().update(bytes).digest()}`);
}

// B65, B66
test.each([
  ["", 0n, "2d06800538d394c2"],
  ["a", 0n, "e6c632b61e964e1f"],
  ["repo-a", 0n, "36bd68fb131b42b9"],
  ["repo-a", 1n, "478636e418891ad7"],
  ["repo-a", 0x100000001n, "29ec548d5fbf31c3"],
  ["group/\uc800\uc7a5\uc18c.git", 0n, "07c386c2b1e6eaf5"],
  ["caf\u00e9", 0n, "4c83dbd5f29d367f"],
  ["cafe\u0301", 0n, "8096ed5108ffb3a1"],
])("hashes %j with seed %s to %s, which is XXH3-64 and not XXH64", (text, seed, hex) => {
  expect(xxh3(text, seed).toString(16).padStart(16, "0")).toBe(hex);
});

test("equals the reference for every length from 0 to 1100 bytes and past the short input's place", async () => {
  const seeds = [0n, 1n, 0xfedcba9876543210n];
  const lengths = [...Array.from({ length: 1100 }, (_, i) => i), 4096, 8191, 8192, 8193, 200_000];
  for (const length of lengths) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 131 + length * 7 + (i >> 3) * 29) & 255);
    const seed = seeds[length % 3] as bigint;
    expect(xxh3(bytes, seed), `length ${length}`).toBe(await oracle(bytes, seed));
  }
});

test("equals the reference for any bytes and seed", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), async (bytes, seed) => {
      expect(xxh3(bytes, seed)).toBe(await oracle(bytes, seed));
    }),
    { numRuns: 300 },
  );
});

test("a string hashes as its UTF-8 bytes", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void expect(xxh3(text)).toBe(xxh3(Buffer.from(text)))));
});
