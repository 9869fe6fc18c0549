import type { ByteString, Code } from "../base/index.ts";
import type { Artifact, Generation, ObjectFormat } from "./generation.ts";
import type { RefTable } from "./ref-table.ts";

/** One ref change that a push asks for. Object ids are lower-case hex; all zeros means "absent". */
export interface RefUpdate {
  readonly ref: ByteString;
  readonly oldOid: string;
  readonly newOid: string;
  /** What an annotated tag at `newOid` peels to. */
  readonly peeledOid?: string;
}

export type RefResult =
  | { readonly ref: ByteString; readonly status: "ok" }
  | { readonly ref: ByteString; readonly status: "rejected"; readonly reason: string }
  | { readonly ref: ByteString; readonly status: "unknown"; readonly reason: string };

/** A pack on local disk that a push brings. The files stay the caller's. */
export interface LocalPack {
  readonly packFile: string;
  readonly indexFile: string;
  readonly reverseIndexFile?: string;
  readonly objectCount: number;
}

export interface PublishRequest {
  readonly path: string;
  /** The generation the caller checked its objects against. */
  readonly base: Generation;
  readonly updates: readonly RefUpdate[];
  /** All or none. */
  readonly atomic: boolean;
  readonly packs: readonly LocalPack[];
  /**
   * Rule R5: asked again before a create on another base than `base`, whenever that base's packs lost anything or its prune
   * epoch differs. Returns the refs whose new value is not connected there.
   */
  readonly disconnected: (base: Generation, updates: readonly RefUpdate[], signal: AbortSignal) => Promise<readonly ByteString[]>;
}

export interface PublishResult {
  /** The newest generation the publisher saw; the one it wrote, where it wrote one. */
  readonly generation: Generation;
  /** In the order of the request's updates. */
  readonly results: readonly RefResult[];
}

/** What the store answered when this node tried it at start (rule R0). */
export interface StoreHealth {
  readonly state: "unproven" | "proven" | "read_only" | "broken";
  /** Empty when proven. */
  readonly message: string;
  readonly code?: Code;
  /** Why the last request since then failed; "" after one that was answered. For people; no rule reads it. */
  readonly trouble?: string;
}

/**
 * Repositories as the object store has them. Every answer is linearizable: it rests on a request that was sent after the
 * call came. All methods reject with `store_unavailable` when the store cannot answer.
 */
export interface RepositoryStorage extends AsyncDisposable {
  readonly health: StoreHealth;

  /** The newest live generation, or undefined where there is none or the newest is deleted. */
  newest(path: string, signal: AbortSignal): Promise<Generation | undefined>;

  /** Errors: `repository_exists`, `store_refuses_writes`, `outcome_unknown`. `head` is a full ref name. */
  create(path: string, options: { objectFormat: ObjectFormat; head: ByteString }, signal: AbortSignal): Promise<Generation>;

  /** Errors: `repository_not_found`, `store_refuses_writes`, `outcome_unknown`. */
  remove(path: string, signal: AbortSignal): Promise<Generation>;

  /** Commits a push. Errors: `repository_not_found` (also when it was removed and made anew meanwhile), `store_refuses_writes`. */
  publish(request: PublishRequest, signal: AbortSignal): Promise<PublishResult>;

  /** The whole ref table of a generation, read from its stack. */
  refTable(generation: Generation, signal: AbortSignal): Promise<RefTable>;

  /**
   * Streams an artifact into a new file at `file`, checking length and SHA-256. On any failure the file is gone.
   * Errors: `artifact_missing`, `corrupt` (after retries), `store_unavailable`.
   */
  fetchArtifact(generation: Generation, artifact: Artifact, file: string, signal: AbortSignal): Promise<void>;

  /** Paths of all repositories whose newest generation is live, in no order. */
  paths(signal: AbortSignal): AsyncIterable<string>;
}
