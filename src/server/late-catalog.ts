import { CodedError } from "../base/index.ts";
import type { Catalog, CatalogEntry } from "../catalog/index.ts";

/** Changes that are kept for a database that is still starting. */
const maxKept = 10_000;

/** The catalog of a node whose database may come later, or never: nothing but lookups and listings needs it. */
export class LateCatalog implements Catalog {
  #catalog: Catalog | undefined;
  #kept: ((catalog: Catalog) => void)[] = [];
  #message = "the database is starting";

  get health(): { readonly ok: boolean; readonly message: string } {
    return this.#catalog?.health ?? { ok: false, message: this.#message };
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

  async find(path: string, signal: AbortSignal): Promise<CatalogEntry | undefined> {
    return this.#get().find(path, signal);
  }

  async list(query: { prefix: string; after: string; limit: number }, signal: AbortSignal): Promise<readonly CatalogEntry[]> {
    return this.#get().list(query, signal);
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
  }

  #get(): Catalog {
    if (!this.#catalog)
      throw new CodedError("database_unavailable", "the catalog has no database", { reason: this.#message }, { retryAfterMs: 1000 });
    return this.#catalog;
  }
}
