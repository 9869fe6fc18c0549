import { LRUCache } from "lru-cache";
import { abortable, type Clock, CodedError, errnoOf, type Random, sharedAbortController, startDeadline } from "../base/index.ts";
import type { LoadBalancer, QueryOptions, StickKey } from "../db/index.ts";
import type { Counter, Logger, Metrics } from "../observability/index.ts";
import type { Catalog, CatalogCaller, CatalogEntry, CatalogQuery, CatalogToken } from "./catalog.ts";
import { ChangeQueue } from "./change-queue.ts";
import { type Deferred, deferred } from "./deferred.ts";
import { migrate } from "./migrate.ts";
import { type CatalogChange, removal, selectByPath, selectPage, upsertChanges } from "./statements.ts";

/** The catalog's options. */
export interface CatalogOptions {
  /** Paths whose changes may wait; more are dropped, counted, and found in the store by the next comparison with it. Default 100000. */
  readonly maxPendingPaths: number;
  /** Changes written by one statement. Default 500. */
  readonly batchSize: number;
  /** Wait before a failed write is tried again, doubled each time up to `maxRetryDelayMs`, with jitter. Default 100 ms. */
  readonly retryDelayMs: number;
  /** Default 10000 ms. */
  readonly maxRetryDelayMs: number;
  /** The database is asked whether it answers this often while there is nothing to write; one that takes longer to answer counts as bad. Default 5000 ms. */
  readonly healthIntervalMs: number;
  /** `find` and `list` give up after this, so that who waits for them is told something. Default 2500 ms. */
  readonly readTimeoutMs: number;
  /** `createCatalog` waits this long for the schema before it goes on without. Default 5000 ms. */
  readonly startTimeoutMs: number;
  /** Disposing waits this long for waiting changes. Default 2000 ms. */
  readonly closeTimeoutMs: number;
  /** Repositories whose k is remembered. Default 100000. */
  readonly maxCachedReplicas: number;
}

export const defaultCatalogOptions: CatalogOptions = {
  maxPendingPaths: 100_000,
  batchSize: 500,
  retryDelayMs: 100,
  maxRetryDelayMs: 10_000,
  healthIntervalMs: 5000,
  readTimeoutMs: 2500,
  startTimeoutMs: 5000,
  closeTimeoutMs: 2000,
  maxCachedReplicas: 100_000,
};

/** What the catalog works with. The load balancer stays the caller's to close. */
export interface CatalogDeps {
  readonly database: LoadBalancer;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const listKey: StickKey = ["catalog", "list"];
const pathKey = (path: string): StickKey => ({ namespace: "repository", id: path, hashId: true });

/** The catalog over a load balancer: reads in the caller's time, writes and the schema in the background. */
class PostgresCatalog implements Catalog {
  readonly #options: CatalogOptions;
  readonly #deps: CatalogDeps;
  readonly #queue: ChangeQueue;
  readonly #replicas: LRUCache<string, number>;
  readonly #changes: Counter;
  readonly #stop = sharedAbortController();
  readonly #loop: Promise<void>;
  #health = { ok: false, message: "not asked yet" };
  readonly #migrated = deferred();
  #schemaReady = false;
  #wake = deferred();
  /** Resolves with the next write, or once the database turns out bad. */
  #written = deferred();
  #flushed: Deferred | undefined;

  constructor(options: CatalogOptions, deps: CatalogDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#queue = new ChangeQueue(options.maxPendingPaths);
    this.#replicas = new LRUCache({ max: options.maxCachedReplicas });
    this.#changes = deps.metrics.counter("gitaly_cluster_catalog_changes_total", "Catalog changes by what became of them", ["result"]);
    deps.metrics.gauge("gitaly_cluster_catalog_pending", "Catalog changes that wait to be written", [], (gauge) =>
      gauge.set(this.#queue.size),
    );
    this.#loop = this.#run(this.#stop.signal);
  }

  get health(): { readonly ok: boolean; readonly message: string } {
    return this.#health;
  }

  record(entry: CatalogEntry): void {
    this.#note({ ...entry, removed: false });
    this.#remember(entry);
  }

  recordRemoved(path: string, repoId: string, generation: number): void {
    this.#note(removal({ path, repoId, generation, createdAtMs: 0, updatedAtMs: this.#deps.clock.now() }));
    this.#replicas.delete(path);
  }

  async find(path: string, signal: AbortSignal, caller: CatalogCaller = {}): Promise<CatalogEntry | undefined> {
    const work = (signal: AbortSignal) => selectByPath(this.#deps.database, path, optionsOf(caller, signal));
    const entry = await this.#read(pathKey(path), caller, work, signal);
    if (entry) this.#remember(entry);
    else this.#replicas.delete(path);
    return entry;
  }

  async list(query: CatalogQuery, signal: AbortSignal, caller: CatalogCaller = {}): Promise<readonly CatalogEntry[]> {
    if (!Number.isInteger(query.limit) || query.limit < 1 || query.limit > 1000) {
      throw new CodedError("invalid_argument", "limit is 1 to 1000", { limit: query.limit });
    }
    const work = (signal: AbortSignal) => selectPage(this.#deps.database, query, optionsOf(caller, signal));
    const entries = await this.#read(listKey, caller, work, signal);
    for (const entry of entries) this.#remember(entry);
    return entries;
  }

  openToken(given: readonly string[]): CatalogToken | undefined {
    return this.#deps.database.openToken(given);
  }

  async settle(path: string, token: CatalogToken, signal: AbortSignal): Promise<void> {
    while (this.#health.ok && this.#queue.has(path) && !signal.aborted) {
      await abortable(this.#written.promise, signal).catch(() => {});
    }
    await this.#deps.database.stickToken(token, { known: !signal.aborted && !this.#queue.has(path) });
  }

  replicasOf(path: string): number | undefined {
    return this.#replicas.get(path);
  }

  async flush(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#queue.size === 0) return;
    this.#flushed ??= deferred();
    await abortable(this.#flushed.promise, signal);
  }

  /** Resolves when the schema is there, or after `ms`. */
  async ready(ms: number): Promise<void> {
    using deadline = startDeadline(this.#deps.clock, ms);
    await abortable(this.#migrated.promise, deadline.signal).catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#stop.signal.aborted) {
      using deadline = startDeadline(this.#deps.clock, this.#options.closeTimeoutMs);
      await this.flush(deadline.signal).catch(() =>
        this.#deps.logger.warn("catalog changes were not written", { pending: this.#queue.size }),
      );
      this.#stop.abort(new CodedError("node_unavailable", "the catalog is closed"));
    }
    await this.#loop;
  }

  #note(change: CatalogChange): void {
    if (!this.#queue.add(change)) {
      this.#changes.add(1, { result: "dropped" });
      this.#deps.logger.error("catalog change dropped: too many wait", { pending: this.#queue.size });
    }
    this.#wake.resolve();
  }

  #remember(entry: CatalogEntry): void {
    if (entry.replicas > 0) this.#replicas.set(entry.path, entry.replicas);
    else this.#replicas.delete(entry.path);
  }

  async #read<T>(key: StickKey, { token }: CatalogCaller, work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const read = (signal: AbortSignal) => this.#deps.database.session({ stick: [key], ...(token && { token }) }, () => work(signal));
    try {
      return await this.#inTime(this.#options.readTimeoutMs, read, signal);
    } catch (error) {
      if (signal.aborted || CodedError.is(error)) throw error;
      if (schemaIsMissing(error)) this.#schemaReady = false;
      throw new CodedError("database_unavailable", "the catalog's database cannot answer", {}, { cause: error, retryAfterMs: 1000 });
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.#step(signal);
        failures = 0;
        this.#health = { ok: true, message: "" };
        if (this.#queue.size === 0) await this.#idle(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (schemaIsMissing(error)) this.#schemaReady = false;
        if (failures++ === 0) this.#deps.logger.warn("catalog database does not answer; changes wait", { error });
        this.#health = { ok: false, message: error instanceof Error ? error.message : "unknown" };
        this.#progress();
        const delayMs = Math.min(this.#options.maxRetryDelayMs, this.#options.retryDelayMs * 2 ** Math.min(failures, 16));
        await this.#deps.clock.sleep(delayMs / 2 + this.#deps.random.float() * (delayMs / 2), signal).catch(() => {});
      }
    }
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { database } = this.#deps;
    if (!this.#schemaReady) {
      const versions = await this.#watched(() => migrate(database, signal));
      if (versions.length > 0) this.#deps.logger.info("catalog schema brought up to date", { versions });
      this.#schemaReady = true;
      this.#health = { ok: true, message: "" };
      this.#migrated.resolve();
    }
    const batch = this.#queue.peek(this.#options.batchSize);
    if (batch.length === 0) await this.#ask(signal);
    else await this.#write(batch, signal);
    if (this.#queue.size === 0) {
      this.#flushed?.resolve();
      this.#flushed = undefined;
    }
  }

  async #write(batch: readonly CatalogChange[], signal: AbortSignal): Promise<void> {
    const { database } = this.#deps;
    try {
      const stick = [listKey, ...batch.map((change) => pathKey(change.path))];
      await this.#watched(() => database.session({ stick }, () => upsertChanges(database, batch, signal)));
      this.#changes.add(batch.length, { result: "written" });
    } catch (error) {
      if (!isRefused(error)) throw error;
      if (batch.length > 1) {
        // One of them is at fault; alone, it cannot hold up the others.
        for (const change of batch) await this.#write([change], signal);
        return;
      }
      this.#changes.add(1, { result: "refused" });
      this.#deps.logger.error("catalog change refused by the database", { path: batch[0]?.path, error });
    }
    this.#queue.done(batch);
    this.#progress();
  }

  /** Whether the database answers. */
  async #ask(signal: AbortSignal): Promise<void> {
    const { database } = this.#deps;
    const question = (signal: AbortSignal) => database.usePrimary(() => database.query("SELECT 1", [], { signal }));
    await this.#inTime(this.#options.healthIntervalMs, question, signal);
  }

  /** Does what may be tried again for a long time; nobody is left to believe meanwhile that all is well. */
  async #watched<T>(work: () => Promise<T>): Promise<T> {
    const { healthIntervalMs } = this.#options;
    using _timer = this.#deps.clock.timer(healthIntervalMs, () => {
      this.#health = { ok: false, message: `the catalog's database has not answered for ${healthIntervalMs} ms` };
      this.#progress();
    });
    return await work();
  }

  /** Errors: `database_unavailable` after `ms`. */
  async #inTime<T>(ms: number, work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    using deadline = startDeadline(this.#deps.clock, ms, signal);
    try {
      return await abortable(work(deadline.signal), deadline.signal);
    } catch (error) {
      if (signal.aborted || !deadline.signal.aborted) throw error;
      const message = "the catalog's database did not answer in time";
      throw new CodedError("database_unavailable", message, { afterMs: ms }, { cause: error, retryAfterMs: 1000 });
    }
  }

  /** Whoever waits for a change to be written looks again. */
  #progress(): void {
    this.#written.resolve();
    this.#written = deferred();
  }

  /** Until there is something to write, or it is time to ask the database how it is. */
  async #idle(signal: AbortSignal): Promise<void> {
    using patience = startDeadline(this.#deps.clock, this.#options.healthIntervalMs, signal);
    await abortable(this.#wake.promise, patience.signal).catch(() => {});
    this.#wake = deferred();
  }
}

function optionsOf({ maxStalenessMs }: CatalogCaller, signal: AbortSignal): QueryOptions {
  return { signal, ...(maxStalenessMs === undefined ? {} : { maxStalenessMs }) };
}

/** Errors that only this data causes: trying again cannot help. */
function isRefused(error: unknown): boolean {
  return !CodedError.is(error) && /^(22|23)/.test(errnoOf(error) ?? "");
}

/** No schema, table or column of that name: the database was made anew. */
function schemaIsMissing(error: unknown): boolean {
  return ["3F000", "42P01", "42703"].includes(errnoOf(error) ?? "");
}

/** Opens the catalog. Resolves also while the database is down: it is set up, and changes are written, once it answers. */
export async function createCatalog(options: Partial<CatalogOptions>, deps: CatalogDeps): Promise<Catalog> {
  const complete = { ...defaultCatalogOptions, ...options };
  const catalog = new PostgresCatalog(complete, deps);
  await catalog.ready(complete.startTimeoutMs);
  return catalog;
}
