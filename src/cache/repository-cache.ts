import type { RepositorySnapshot, RepositoryView } from "../git/index.ts";
import type { Generation, LocalPack, RefTable } from "../storage/index.ts";

/** One generation pinned for one call: nothing of it is evicted until the lease is disposed. */
export interface RepositoryLease extends RepositoryView, AsyncDisposable {
  readonly generation: Generation;
  readonly refs: RefTable;
  /** Directories with the refs and exactly the packs of `generation`. */
  snapshot(signal: AbortSignal): Promise<RepositorySnapshot>;
}

/** Leases on repositories, filled from the store. */
export interface RepositoryCache extends AsyncDisposable {
  /** Bytes of artifacts on local disk. */
  readonly sizeBytes: number;
  /** The newest generation at the time of the call. Errors: `repository_not_found`, and those of the storage. */
  acquire(path: string, signal: AbortSignal): Promise<RepositoryLease>;
  /** A lease on a known generation, for a publisher that must look at another base. */
  acquireGeneration(generation: Generation, signal: AbortSignal): Promise<RepositoryLease>;
  /** An empty private directory for one push, on the cache's disk; removed when disposed. */
  quarantine(): Promise<{ readonly dir: string } & AsyncDisposable>;
  /**
   * Keeps local packs that a push has just published as `generation`, so that the next read fetches nothing. Call it while the
   * files still exist; they must not change afterwards. Never rejects.
   *
   * @returns how many packs were kept.
   */
  adopt(generation: Generation, packs: readonly LocalPack[]): Promise<number>;
  /**
   * Says that git failed on the lease's snapshot: its directories are looked through, every file of the manifest is compared
   * with its digest, and what is wrong is thrown away. The next `snapshot()`, of this lease too, fills the gaps. As clients can
   * make git fail, a file is compared seldom enough that it costs little.
   *
   * @returns how many files and directories were damaged; 0 means that trying again is pointless.
   */
  reportDamage(lease: RepositoryLease, signal: AbortSignal): Promise<number>;
}
