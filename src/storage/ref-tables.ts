import { LRUCache } from "lru-cache";
import { SingleFlight } from "../base/index.ts";
import { type ArtifactDeps, readArtifact } from "./artifacts.ts";
import type { Generation } from "./generation.ts";
import type { PackedRefTable } from "./packed-refs.ts";
import { readRefStack } from "./ref-stack.ts";
import type { RefTable } from "./ref-table.ts";

/** Ref tables of generations, read once and kept in memory up to a number of bytes. */
export class RefTables {
  readonly #deps: ArtifactDeps;
  readonly #kept: LRUCache<string, RefTable>;
  readonly #flights = new SingleFlight<RefTable>();

  constructor(options: { refTableCacheBytes: number }, deps: ArtifactDeps) {
    this.#deps = deps;
    this.#kept = new LRUCache({
      maxSize: options.refTableCacheBytes,
      sizeCalculation: (table) => table.toPackedRefs().length + table.size * 4 + 256,
    });
  }

  /** The whole table of a generation. Errors: `artifact_missing`, `corrupt`, `store_unavailable`. */
  async of(generation: Generation, signal: AbortSignal): Promise<RefTable> {
    const kept = this.#kept.get(generation.digest);
    if (kept) return kept;
    return await this.#flights.run(generation.digest, signal, async (shared) => {
      const table = await this.#read(generation, shared);
      this.put(generation, table);
      return table;
    });
  }

  /** Keeps the table of a generation that was just written. */
  put(generation: Generation, table: RefTable): void {
    this.#kept.set(generation.digest, table);
  }

  async #read(generation: Generation, signal: AbortSignal): Promise<PackedRefTable> {
    const layers: Uint8Array[] = [];
    for (const artifact of generation.refTables) layers.push(await readArtifact(this.#deps, generation.poolId, artifact, signal));
    return readRefStack([...layers, generation.inlineRefTable], generation.objectFormat);
  }
}
