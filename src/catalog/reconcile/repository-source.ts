import type { CatalogChange } from "../statements.ts";

/** A name under which the store keeps, or kept, a repository. */
export interface StoredName {
  /** How the store calls it; for logs. */
  readonly encodedPath: string;
  /** Undefined where the store's name does not tell. */
  readonly path: string | undefined;
}

/**
 * The repositories as the store has them; what it says is true at some moment after the question. `store_unavailable` means no answer;
 * `corrupt` and `artifact_missing` mean that this one repository cannot be read.
 */
export interface RepositorySource {
  /** Every name, also of removed repositories, in pages. Throws where the list cannot be had to its end. */
  pages(signal: AbortSignal): AsyncIterable<readonly StoredName[]>;
  /** What the newest record says, as a row: live, or removed; undefined where there never was a repository of that name. */
  newest(repository: string | StoredName, signal: AbortSignal): Promise<CatalogChange | undefined>;
  /** Whether a record follows this generation. */
  hasNewer(path: string, generation: number, signal: AbortSignal): Promise<boolean>;
}
