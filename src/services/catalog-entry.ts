import type { CatalogEntry } from "../catalog/index.ts";
import type { Generation } from "../storage/index.ts";
import { generationSizeBytes } from "./generation-size.ts";

/** What the catalog notes of a generation. */
export function catalogEntry(generation: Generation, refCount: number): CatalogEntry {
  return {
    path: generation.path,
    repoId: generation.repoId,
    objectFormat: generation.objectFormat,
    head: generation.head,
    generation: generation.n,
    sizeBytes: generationSizeBytes(generation),
    refCount,
    packCount: generation.packs.length,
    replicas: generation.settings.replicas,
    createdAtMs: generation.createdAtMs,
    updatedAtMs: generation.writtenAtMs,
  };
}
