import type { RepositorySnapshot, RepositoryView } from "../git/index.ts";
import type { Generation, RefTable } from "../storage/index.ts";

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
}
