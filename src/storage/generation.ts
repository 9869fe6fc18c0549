import type { ByteString } from "../base/index.ts";

export type ObjectFormat = "sha1" | "sha256";

/** An immutable object of a pool; its name carries repository, epoch, transaction and digest. */
export interface Artifact {
  /** `<repoId>.<gcEpoch>.<txid>.<sha256>.<ext>` */
  readonly name: string;
  readonly sizeBytes: number;
}

/** A packfile with what git needs beside it. */
export interface Pack {
  readonly pack: Artifact;
  readonly index: Artifact;
  readonly reverseIndex?: Artifact;
  readonly bitmap?: Artifact;
  readonly objectCount: number;
}

/** The manifest of one generation of a repository, as stored in its record. Immutable. */
export interface Generation {
  readonly format: number;
  readonly n: number;
  /** SHA-256 over the stored bytes of generation n-1, hex; "" for n = 1. */
  readonly parentDigest: string;
  readonly txid: string;
  readonly writer: string;
  readonly writtenAtMs: number;
  readonly state: "live" | "deleted";
  readonly repoId: string;
  readonly poolId: string;
  readonly path: string;
  readonly objectFormat: ObjectFormat;
  readonly createdAtMs: number;
  /** What HEAD names: a full reference name. */
  readonly head: ByteString;
  /** Oldest first; a newer table's entry wins. */
  readonly refTables: readonly Artifact[];
  /** The topmost ref table where it fits the record. */
  readonly inlineRefTable: Uint8Array;
  readonly packs: readonly Pack[];
  /** `replicas` 0 means the cluster's default. */
  readonly settings: { readonly replicas: number; readonly placement: string };
  readonly pruneEpoch: number;
  readonly gcEpoch: number;
  readonly bumpGen: number;
  readonly trash: Readonly<Record<string, number>>;
  /** SHA-256 over the stored bytes of this record, hex; not part of the record. */
  readonly digest: string;
}
