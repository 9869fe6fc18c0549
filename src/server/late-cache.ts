import type { RepositoryCache, RepositoryLease } from "../cache/index.ts";
import type { Generation, LocalPack } from "../storage/index.ts";
import type { Late } from "./late.ts";

/** The cache of a node that may not know its store yet: until then every call is refused with `node_unavailable`. */
export class LateCache implements RepositoryCache {
  readonly #cache: Late<RepositoryCache>;

  constructor(cache: Late<RepositoryCache>) {
    this.#cache = cache;
  }

  get sizeBytes(): number {
    return this.#cache.ifSet?.sizeBytes ?? 0;
  }

  async acquire(path: string, signal: AbortSignal): Promise<RepositoryLease> {
    return this.#cache.value.acquire(path, signal);
  }

  async acquireGeneration(generation: Generation, signal: AbortSignal): Promise<RepositoryLease> {
    return this.#cache.value.acquireGeneration(generation, signal);
  }

  async quarantine(): Promise<{ readonly dir: string } & AsyncDisposable> {
    return this.#cache.value.quarantine();
  }

  async adopt(generation: Generation, packs: readonly LocalPack[]): Promise<number> {
    return this.#cache.value.adopt(generation, packs);
  }

  async reportDamage(lease: RepositoryLease, signal: AbortSignal): Promise<number> {
    return this.#cache.value.reportDamage(lease, signal);
  }

  /** The cache itself is closed by whoever opened it. */
  async [Symbol.asyncDispose](): Promise<void> {}
}
