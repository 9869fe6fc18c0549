import { CodedError } from "../base/index.ts";
import type { ArtifactDeps } from "./artifacts.ts";
import type { Generation } from "./generation.ts";
import { GenerationReader } from "./generation-reader.ts";
import { decodeRepositoryPath, encodeRepositoryPath, repositoriesPrefix } from "./keys.ts";
import { RefTables } from "./ref-tables.ts";

/** A name under which the store keeps, or kept, a repository. */
export interface ScannedRepository {
  /** The path as it stands in keys. */
  readonly encodedPath: string;
  /** Undefined where the key holds only the digest of a long path. */
  readonly path: string | undefined;
}

/**
 * Looks at all repositories once. It keeps nothing, so that a walk does not drive out what a node remembers of the repositories in use.
 * Every answer rests on a request that was sent after the call came. Errors: `store_unavailable`; of single repositories `corrupt` and `artifact_missing`.
 */
export class RepositoryScan {
  readonly #store: ArtifactDeps["store"];
  readonly #reader: GenerationReader;
  readonly #refTables: RefTables;

  /** The store stays the caller's. */
  constructor(deps: ArtifactDeps) {
    this.#store = deps.store;
    this.#reader = new GenerationReader({ knownGenerations: 1, knownGenerationsBytes: 1 }, deps);
    this.#refTables = new RefTables({ refTableCacheBytes: 1 }, deps);
  }

  /** Every name in the store, also of removed repositories, up to 1000 at a time. Throws where the list cannot be had to its end. */
  async *pages(signal: AbortSignal): AsyncGenerator<readonly ScannedRepository[]> {
    for (let startAfter: string | undefined; ; ) {
      const from = startAfter === undefined ? {} : { startAfter };
      const { prefixes, next } = await this.#store.list({ prefix: repositoriesPrefix, delimiter: "/", ...from }, signal);
      const names = prefixes.map((prefix) => prefix.slice(repositoriesPrefix.length, -1));
      yield names.map((encodedPath) => ({ encodedPath, path: decodeRepositoryPath(encodedPath) }));
      if (next === undefined) return;
      startAfter = next;
    }
  }

  /** The newest generation, live or deleted, of a path or of a name from `pages`; undefined where there never was one. */
  async newest(repository: string | ScannedRepository, signal: AbortSignal): Promise<Generation | undefined> {
    const encodedPath = typeof repository === "string" ? encodeRepositoryPath(repository) : repository.encodedPath;
    const generation = await this.#reader.newestOfEncoded(encodedPath, signal);
    if (generation && typeof repository === "string" && generation.path !== repository) {
      throw new CodedError("corrupt", "a generation record is damaged", { path: repository, problem: "record is of another path" });
    }
    return generation;
  }

  /** Whether a generation follows `n`; one small request. */
  async hasNewer(path: string, n: number, signal: AbortSignal): Promise<boolean> {
    return (await this.#reader.slot(path, n + 1, signal)) !== undefined;
  }

  /** How many refs a generation has. */
  async refCount(generation: Generation, signal: AbortSignal): Promise<number> {
    return (await this.#refTables.of(generation, signal)).size;
  }
}
