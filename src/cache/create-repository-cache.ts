import { mkdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import { type Clock, CodedError, linkSignals, type Random, randomHex, SingleFlight, sharedAbortController } from "../base/index.ts";
import type { Logger, Metrics } from "../observability/index.ts";
import type { Generation, LocalPack, RefTable, RepositoryStorage } from "../storage/index.ts";
import { adoptPack } from "./adopt-packs.ts";
import { ArtifactCache } from "./artifact-cache.ts";
import { type CacheMetrics, cacheMetrics } from "./cache-metrics.ts";
import { packArtifacts, packsKey, refsKey } from "./hydrate.ts";
import { Lease } from "./lease.ts";
import { PinnedDirs } from "./pinned-dirs.ts";
import type { RepositoryCache, RepositoryLease } from "./repository-cache.ts";
import { Trash } from "./trash.ts";

export interface RepositoryCacheOptions {
  /** The cache's own directory; all of it may be deleted while the node is down. */
  readonly dir: string;
  /** Bytes of artifacts that are kept. What running calls need stays beyond it. */
  readonly maxBytes: number;
  /** Bytes of the disk that are left to others. */
  readonly minFreeBytes: number;
  /** Downloads at one time. */
  readonly maxFills: number;
  /** Bytes of ref tables kept in memory. */
  readonly maxRefTableBytes: number;
  /** Directories of each kind that are kept for repositories no call reads. */
  readonly maxIdleDirs: number;
}

export const defaultRepositoryCacheOptions: Omit<RepositoryCacheOptions, "dir"> = {
  maxBytes: 10 * 1024 ** 3,
  minFreeBytes: 256 * 1024 ** 2,
  maxFills: 16,
  maxRefTableBytes: 256 * 1024 ** 2,
  maxIdleDirs: 10_000,
};

export interface RepositoryCacheDeps {
  readonly storage: Pick<RepositoryStorage, "newest" | "refTable" | "fetchArtifact">;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Bytes that may still be written to the disk that holds `path`. Default: what the file system says. */
  readonly freeBytes?: (path: string) => Promise<number>;
}

interface Keys {
  readonly packs: string;
  readonly refs: string;
}

/** A chain of generations that lose artifacts faster than one can read them ends here. */
const maxProbes = 5;

/**
 * Opens the cache in `options.dir`, which no other process may use. Artifacts of an earlier process are kept, and compared with
 * their digests at first use; everything that is derived from them is removed.
 */
export async function createRepositoryCache(
  options: Partial<RepositoryCacheOptions> & Pick<RepositoryCacheOptions, "dir">,
  deps: RepositoryCacheDeps,
): Promise<RepositoryCache> {
  const cache = new DiskRepositoryCache({ ...defaultRepositoryCacheOptions, ...options }, deps);
  await cache.open();
  return cache;
}

class DiskRepositoryCache implements RepositoryCache {
  readonly #dir: string;
  readonly #deps: RepositoryCacheDeps;
  readonly #logger: Logger;
  readonly #metrics: CacheMetrics;
  readonly #trash: Trash;
  readonly #artifacts: ArtifactCache;
  readonly #objectDirs: PinnedDirs;
  readonly #gitDirs: PinnedDirs;
  readonly #keys = new LRUCache<string, Keys>({ max: 10_000 });
  readonly #refs: LRUCache<string, RefTable>;
  readonly #refLoads = new SingleFlight<RefTable>();
  readonly #quarantines = new Set<string>();
  readonly #stop = sharedAbortController();

  constructor(options: RepositoryCacheOptions, deps: RepositoryCacheDeps) {
    this.#dir = options.dir;
    this.#deps = deps;
    this.#logger = deps.logger.child({ part: "cache" });
    this.#metrics = cacheMetrics(deps.metrics, () => this.sizeBytes);
    this.#trash = new Trash({ dir: join(options.dir, "tmp") }, { logger: this.#logger });
    const dirs = (name: string, onRemoved?: (dir: Parameters<ArtifactCache["release"]>[0]) => void) =>
      new PinnedDirs(
        { dir: join(options.dir, name), maxIdle: options.maxIdleDirs },
        { trash: this.#trash, random: deps.random, ...(onRemoved ? { onRemoved } : {}) },
      );
    this.#objectDirs = dirs("objects", (dir) => this.#artifacts.release(dir));
    this.#gitDirs = dirs("snapshots");
    this.#refs = new LRUCache({ max: 10_000, maxSize: options.maxRefTableBytes, sizeCalculation: (table) => table.toPackedRefs().length });
    this.#artifacts = new ArtifactCache(
      { ...options, dir: join(options.dir, "artifacts") },
      {
        storage: deps.storage,
        clock: deps.clock,
        logger: this.#logger,
        metrics: this.#metrics,
        trash: this.#trash,
        freeBytes: deps.freeBytes ?? freeBytesOf,
        retire: (dir) => this.#objectDirs.retire(dir),
      },
    );
  }

  async open(): Promise<void> {
    for (const name of ["tmp", "objects", "snapshots", "quarantine"]) await rm(join(this.#dir, name), { recursive: true, force: true });
    await mkdir(join(this.#dir, "tmp"), { recursive: true });
    await this.#artifacts.load();
  }

  get sizeBytes(): number {
    return this.#artifacts.sizeBytes;
  }

  async acquire(path: string, signal: AbortSignal): Promise<RepositoryLease> {
    let last: { generation: Generation; error: unknown } | undefined;
    for (let probe = 0; ; probe++) {
      const generation = await this.#deps.storage.newest(path, signal);
      if (!generation) throw new CodedError("repository_not_found", "repository not found", { relativePath: path });
      if (last?.generation.digest === generation.digest) this.#alarm(generation, last.error);
      if (last && (last.generation.digest === generation.digest || probe >= maxProbes)) throw last.error;
      try {
        return await this.acquireGeneration(generation, signal);
      } catch (error) {
        // Collected while it was read: a newer generation names what took its place.
        if (!CodedError.is(error, "artifact_missing")) throw error;
        last = { generation, error };
      }
    }
  }

  async acquireGeneration(generation: Generation, signal: AbortSignal): Promise<RepositoryLease> {
    this.#stop.signal.throwIfAborted();
    const keys = this.#keysOf(generation);
    const refs = await this.#refTable(generation, keys.refs, signal);
    return new Lease(
      { generation, refs, packsKey: keys.packs, refsKey: keys.refs, stopped: this.#stop.signal },
      {
        artifacts: this.#artifacts,
        objectDirs: this.#objectDirs,
        gitDirs: this.#gitDirs,
        metrics: this.#metrics,
        onMissing: (error, asked) => this.#explainMissing(generation, error, asked),
      },
    );
  }

  async quarantine(): Promise<{ readonly dir: string } & AsyncDisposable> {
    this.#stop.signal.throwIfAborted();
    const dir = join(this.#dir, "quarantine", randomHex(this.#deps.random, 12));
    await mkdir(dir, { recursive: true, mode: 0o700 });
    this.#quarantines.add(dir);
    return {
      dir,
      [Symbol.asyncDispose]: async () => {
        if (this.#quarantines.delete(dir)) this.#trash.discard(dir);
      },
    };
  }

  async adopt(generation: Generation, packs: readonly LocalPack[]): Promise<number> {
    let adopted = 0;
    for (const pack of packs) {
      try {
        if (await adoptPack(this.#artifacts, generation, pack)) adopted++;
      } catch (error) {
        // Only speed is lost: the next read fetches the pack.
        this.#logger.warn("cannot keep a pushed pack in the cache", { error, repoId: generation.repoId, n: generation.n });
      }
    }
    this.#metrics.adopted.add(adopted);
    this.#artifacts.trim();
    return adopted;
  }

  async reportDamage(lease: RepositoryLease, signal: AbortSignal): Promise<number> {
    const { generation } = lease;
    const broken = lease instanceof Lease ? await lease.retireBrokenDirs() : 0;
    const damaged = broken + (await this.#artifacts.verify(packArtifacts(generation), true, signal));
    this.#logger.warn("a snapshot was reported as damaged", { repoId: generation.repoId, n: generation.n, damaged });
    return damaged;
  }

  /** Stops what is being filled and waits until discarded files are gone. Artifacts stay for the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new CodedError("node_unavailable", "the cache is closed"));
    for (const dir of this.#quarantines) this.#trash.discard(dir);
    this.#quarantines.clear();
    await Promise.all([this.#objectDirs.settled(), this.#gitDirs.settled(), this.#artifacts.settled()]);
    await this.#trash.settled();
  }

  #keysOf(generation: Generation): Keys {
    const known = this.#keys.get(generation.digest);
    if (known) return known;
    const keys = { packs: packsKey(generation), refs: refsKey(generation) };
    this.#keys.set(generation.digest, keys);
    return keys;
  }

  async #refTable(generation: Generation, key: string, signal: AbortSignal): Promise<RefTable> {
    const id = `${generation.repoId}.${key}`;
    const known = this.#refs.get(id);
    if (known) return known;
    using linked = linkSignals(signal, this.#stop.signal);
    return this.#refLoads.run(id, linked.signal, async (ownSignal) => {
      const table = await this.#deps.storage.refTable(generation, ownSignal);
      this.#refs.set(id, table);
      return table;
    });
  }

  /** An artifact is gone from the store: expected where the generation is superseded, a loss of data where it is the newest. */
  async #explainMissing(generation: Generation, error: CodedError, signal: AbortSignal): Promise<CodedError> {
    const newest = await this.#deps.storage.newest(generation.path, signal);
    if (newest?.digest === generation.digest) {
      this.#alarm(generation, error);
      return error;
    }
    const fields = { ...error.fields, superseded: true };
    return new CodedError("artifact_missing", "the generation was superseded and its artifacts are gone", fields, { cause: error });
  }

  #alarm(generation: Generation, error: unknown): void {
    this.#logger.error("an artifact of a newest generation is missing from the object store", {
      alarm: "artifact_missing",
      repoId: generation.repoId,
      relativePath: generation.path,
      n: generation.n,
      error,
    });
  }
}

async function freeBytesOf(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
