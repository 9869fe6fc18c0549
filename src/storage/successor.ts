import type { Generation } from "./generation.ts";
import { type GenerationDraft, generationFormat } from "./generation-codec.ts";

/** The generation after `base` with the same content. */
export function successor(base: Generation, by: { txid: string; writer: string; writtenAtMs: number }): GenerationDraft {
  const { digest, ...content } = base;
  return { ...content, ...by, format: generationFormat, n: base.n + 1, parentDigest: digest };
}
