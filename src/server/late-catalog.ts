import { CodedError } from "../base/index.ts";
import type { Catalog, CatalogCaller, CatalogEntry, CatalogQuery, CatalogToken } from "../catalog/index.ts";
import type { Counter, Logger, Metrics } from "../observability/index.ts";

/** Changes that are kept for a database that is still starting. */
const maxKept = 10_000;

/** The catalog of a node whose database may come later, or never: nothing but lookups and listings needs it. */
export class LateCatalog implements Catalog {
  #catalog: Catalog | undefined;
  #kept: ((catalog: Catalog) => void)[] = [];
  #message = "the database is starting";
  readonly #changes: Counter;
  readonly #logger: Logger;
  #dropped = 0;

  constructor(deps: { readonly metrics: Metrics; readonly logger: Logger }) {
    this.#changes = deps.metrics.counter("gitaly_cluster_catalog_changes_total", "Catalog changes by what became of them", ["result"]);
    this.#logger = deps.logger;
  }

  /** A message of a database that does not answer names the key that says where it is. */
  get health(): { readonly ok: boolean; readonly message: string } {
    const health = this.#catalog?.health ?? { ok: false, message: this.#message };
    return health.ok || health.message.includes("database.url") ? health : { ok: false, message: `${health.message}; see database.url` };
  }

  /** Says why there is no database. */
  explain(message: string): void {
    this.#message = message;
  }

  /** From now on `catalog` answers; what was noted before reaches it first. It stays the caller's to close. */
  set(catalog: Catalog): void {
    this.#catalog = catalog;
    for (const note of this.#kept.splice(0)) note(catalog);
  }

  record(entry: CatalogEntry): void {
    this.#note((catalog) => catalog.record(entry));
  }

  recordRemoved(path: string, repoId: string, generation: number): void {
    this.#note((catalog) => catalog.recordRemoved(path, repoId, generation));
  }

  async find(path: string, signal: AbortSignal, caller?: CatalogCaller): Promise<CatalogEntry | undefined> {
    return this.#get().find(path, signal, caller);
  }

  async list(query: CatalogQuery, signal: AbortSignal, caller?: CatalogCaller): Promise<readonly CatalogEntry[]> {
    return this.#get().list(query, signal, caller);
  }

  openToken(given: readonly string[]): CatalogToken | undefined {
    return this.#catalog?.openToken(given);
  }

  async settle(path: string, token: CatalogToken, signal: AbortSignal): Promise<void> {
    await this.#catalog?.settle(path, token, signal);
  }

  replicasOf(path: string): number | undefined {
    return this.#catalog?.replicasOf(path);
  }

  async flush(signal: AbortSignal): Promise<void> {
    await this.#get().flush(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kept = [];
  }

  #note(change: (catalog: Catalog) => void): void {
    if (this.#catalog) change(this.#catalog);
    else if (this.#kept.length < maxKept) this.#kept.push(change);
    else {
      this.#changes.add(1, { result: "dropped" });
      if (this.#dropped++ === 0) this.#logger.error("catalog changes are dropped: there is no database yet and too many wait", { maxKept });
    }
  }

  #get(): Catalog {
    if (!this.#catalog)
      throw new CodedError("database_unavailable", "the catalog has no database", { reason: this.#message }, { retryAfterMs: 1000 });
    return this.#catalog;
  }
}
