import type { ByteString } from "../base/index.ts";
import type { TokenStickingStore } from "../db/index.ts";

/** What the catalog knows of a repository: an index of the store, never the truth. */
export interface CatalogEntry {
  readonly path: string;
  readonly repoId: string;
  readonly objectFormat: "sha1" | "sha256";
  /** Full ref name that HEAD names. */
  readonly head: ByteString;
  readonly generation: number;
  readonly sizeBytes: number;
  readonly refCount: number;
  readonly packCount: number;
  /** How many nodes serve it; 0 means the cluster's default. */
  readonly replicas: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Which part of the list. */
export interface CatalogQuery {
  readonly prefix: string;
  readonly after: string;
  readonly limit: number;
}

/** What a caller has seen of the catalog, as it carries it from call to call. */
export type CatalogToken = TokenStickingStore;

/** What one caller asks of the answers. */
export interface CatalogCaller {
  /** It sees what this names, and what is written meanwhile in its name. */
  readonly token?: CatalogToken | undefined;
  /** A replica that is out for its lag will do, if it lags no more than this. */
  readonly maxStalenessMs?: number | undefined;
}

/** Repository metadata in PostgreSQL. Writes happen in the background, after a commit, and are retried until they land. */
export interface Catalog extends AsyncDisposable {
  /** Whether the database answers, and what is wrong where it does not. */
  readonly health: { readonly ok: boolean; readonly message: string };
  /** Notes a generation; newer generations of one repository id win, an older one changes nothing. Returns at once. */
  record(entry: CatalogEntry): void;
  /** Notes that a repository is gone. Returns at once. */
  recordRemoved(path: string, repoId: string, generation: number): void;
  /** Errors: `database_unavailable`. */
  find(path: string, signal: AbortSignal, caller?: CatalogCaller): Promise<CatalogEntry | undefined>;
  /** In byte order of the paths, after `after`. `limit` at most 1000. Errors: `database_unavailable`. */
  list(query: CatalogQuery, signal: AbortSignal, caller?: CatalogCaller): Promise<readonly CatalogEntry[]>;
  /** What a caller's tokens say, which may be anything; undefined where this node makes none. */
  openToken(given: readonly string[]): CatalogToken | undefined;
  /**
   * Waits until what is noted of `path` is written, and notes in `token` what its caller must see from then on. Once `signal` aborts, or
   * while the database is away, it notes that only the primary will do. Never rejects.
   */
  settle(path: string, token: CatalogToken, signal: AbortSignal): Promise<void>;
  /** The k of a repository as last seen, without waiting; undefined where unknown or default. */
  replicasOf(path: string): number | undefined;
  /** Resolves when all noted changes are written, or rejects when `signal` aborts. */
  flush(signal: AbortSignal): Promise<void>;
}
