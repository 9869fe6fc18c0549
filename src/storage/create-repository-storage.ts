import {
  type ByteString,
  type Clock,
  CodedError,
  checkRelativePath,
  linkSignals,
  type Random,
  sharedAbortController,
} from "../base/index.ts";
import type { Logger, Metrics } from "../observability/index.ts";
import { fetchArtifactFile } from "./artifacts.ts";
import type { Artifact, Generation, ObjectFormat } from "./generation.ts";
import { GenerationReader, type GenerationReaderOptions } from "./generation-reader.ts";
import { createRepository, type LifeOptions, removeRepository } from "./life.ts";
import { listPaths } from "./list-paths.ts";
import type { ObjectStore } from "./object-store.ts";
import { type ProbeOptions, probeStore } from "./probe.ts";
import { Publisher, type PublisherOptions } from "./publisher.ts";
import type { RefTable } from "./ref-table.ts";
import { RefTables } from "./ref-tables.ts";
import type { PublishRequest, PublishResult, RepositoryStorage, StoreHealth } from "./repository-storage.ts";
import { storageMetrics } from "./storage-metrics.ts";

/** Limits and times of a node's view of the object store. */
export interface RepositoryStorageOptions extends PublisherOptions, ProbeOptions, GenerationReaderOptions, LifeOptions {
  /** Ref tables kept in memory, in bytes. Default 67,108,864. */
  readonly refTableCacheBytes: number;
}

/** All but the node's name. */
export const defaultRepositoryStorageOptions: Omit<RepositoryStorageOptions, "writer"> = {
  commitTimeoutMs: 60_000,
  poisonTimeoutMs: 10_000,
  inlineRefTableBytes: 16 * 1024,
  maxGroupSize: 64,
  maxQueuedPushes: 1000,
  maxUpdates: 100_000,
  probeTimeoutMs: 60_000,
  knownGenerations: 10_000,
  knownGenerationsBytes: 256 * 1024 * 1024,
  refTableCacheBytes: 64 * 1024 * 1024,
};

export interface RepositoryStorageDeps {
  /** Stays the caller's: dispose it after the storage. */
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** A storage whose health the server sets: `unproven` until the first probe, and until then it writes nothing. */
export interface ProbedRepositoryStorage extends RepositoryStorage {
  /** Tries the store once and keeps the verdict. */
  probe(signal: AbortSignal): Promise<StoreHealth>;
  setHealth(health: StoreHealth): void;
}

/** Repositories in an object store. Options left out have their defaults. */
export function createRepositoryStorage(
  options: Partial<RepositoryStorageOptions> & { readonly writer: string },
  deps: RepositoryStorageDeps,
): ProbedRepositoryStorage {
  return new StoreRepositoryStorage({ ...defaultRepositoryStorageOptions, ...options }, deps);
}

class StoreRepositoryStorage implements ProbedRepositoryStorage {
  readonly #options: RepositoryStorageOptions;
  readonly #deps: RepositoryStorageDeps & { readonly reader: GenerationReader };
  readonly #reader: GenerationReader;
  readonly #refTables: RefTables;
  readonly #publisher: Publisher;
  readonly #closing = sharedAbortController();
  #health: StoreHealth = { state: "unproven", message: "the object store has not been tried yet", code: "store_unavailable" };

  constructor(options: RepositoryStorageOptions, deps: RepositoryStorageDeps) {
    this.#options = options;
    this.#reader = new GenerationReader(options, deps);
    this.#deps = { ...deps, reader: this.#reader };
    this.#refTables = new RefTables(options, deps);
    const metrics = storageMetrics(deps.metrics);
    this.#publisher = new Publisher(options, { ...deps, reader: this.#reader, refTables: this.#refTables, metrics });
  }

  get health(): StoreHealth {
    const { trouble } = this.#deps.store;
    return trouble ? { ...this.#health, trouble } : this.#health;
  }

  setHealth(health: StoreHealth): void {
    this.#health = health;
  }

  async probe(signal: AbortSignal): Promise<StoreHealth> {
    this.#health = await probeStore(this.#deps, this.#options, signal);
    return this.#health;
  }

  async newest(path: string, signal: AbortSignal): Promise<Generation | undefined> {
    checkRelativePath(path);
    const newest = await this.#reader.newest(path, signal);
    return newest?.state === "live" ? newest : undefined;
  }

  async create(path: string, options: { objectFormat: ObjectFormat; head: ByteString }, signal: AbortSignal): Promise<Generation> {
    checkRelativePath(path);
    this.#checkWritable();
    using linked = linkSignals(signal, this.#closing.signal);
    return await createRepository(path, options, this.#options, this.#deps, linked.signal);
  }

  async remove(path: string, signal: AbortSignal): Promise<Generation> {
    checkRelativePath(path);
    this.#checkWritable();
    using linked = linkSignals(signal, this.#closing.signal);
    return await removeRepository(path, this.#options, this.#deps, linked.signal);
  }

  async publish(request: PublishRequest, signal: AbortSignal): Promise<PublishResult> {
    checkRelativePath(request.path);
    this.#checkWritable();
    return await this.#publisher.publish(request, signal);
  }

  refTable(generation: Generation, signal: AbortSignal): Promise<RefTable> {
    return this.#refTables.of(generation, signal);
  }

  fetchArtifact(generation: Generation, artifact: Artifact, file: string, signal: AbortSignal): Promise<void> {
    return fetchArtifactFile(this.#deps, generation.poolId, artifact, file, signal);
  }

  paths(signal: AbortSignal): AsyncIterable<string> {
    return listPaths(this.#deps, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new CodedError("node_unavailable", "the node is shutting down"));
    await this.#publisher[Symbol.asyncDispose]();
  }

  #checkWritable(): void {
    const { state, message } = this.#health;
    if (state === "proven") return;
    if (state === "unproven") {
      throw new CodedError(
        "store_unavailable",
        "the object store is not proven for writes yet",
        { reason: message },
        { retryAfterMs: 1000 },
      );
    }
    throw new CodedError("store_refuses_writes", `the object store cannot be written to safely: ${message}`, { state });
  }
}
