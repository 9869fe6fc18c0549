import type { ByteString } from "../base/index.ts";

/** A ref as git code needs it. */
export interface RefValue {
  readonly name: ByteString;
  readonly oid: string;
  readonly peeled?: string;
}

/** The refs of one generation, sorted by name byte by byte. */
export interface RefView {
  readonly size: number;
  get(name: ByteString): RefValue | undefined;
  withPrefix(prefix: ByteString): Iterable<RefValue>;
}

/** Directories that git children may read. They stay as they are for as long as the lease behind them is held. */
export interface RepositorySnapshot {
  /** Holds `HEAD`, `refs/`, `packed-refs` and `config`; no objects. */
  readonly gitDir: string;
  /** Holds `pack/`: exactly the packs of one manifest. */
  readonly objectDir: string;
}

/** One generation of a repository, as a call sees it. */
export interface RepositoryView {
  readonly objectFormat: "sha1" | "sha256";
  /** What HEAD names, born or not. */
  readonly head: ByteString;
  readonly refs: RefView;
  /** Makes the directories ready: fills the cache on first use. */
  snapshot(signal: AbortSignal): Promise<RepositorySnapshot>;
}
