import { LRUCache } from "lru-cache";
import type { Address } from "./address.ts";

interface Entry {
  readonly owners: readonly Address[];
  readonly fingerprint: string;
}

/** Who owns which repository, as redirects told; forgotten when the ring changes or an owner fails. */
export class OwnerMemory {
  readonly #entries: LRUCache<string, Entry>;
  #fingerprint = "";

  constructor(maxEntries: number) {
    this.#entries = new LRUCache({ max: maxEntries });
  }

  /** In order of preference; empty where nothing is known. */
  ownersOf(repository: string): readonly Address[] {
    const entry = this.#entries.get(repository);
    if (entry?.fingerprint === this.#fingerprint) return entry.owners;
    this.#entries.delete(repository);
    return [];
  }

  remember(repository: string, owners: readonly Address[], fingerprint: string): void {
    // What older rings said may be wrong now; each entry is dropped when it is asked for.
    this.#fingerprint = fingerprint;
    this.#entries.set(repository, { owners, fingerprint });
  }

  forget(repository: string): void {
    this.#entries.delete(repository);
  }
}
