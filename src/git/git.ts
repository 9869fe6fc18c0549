import type { ByteString } from "../base/index.ts";
import type { RepositoryView } from "./repository-view.ts";

/** One ref change of a push. Object ids are lower-case hex; all zeros means "absent". */
export interface PushCommand {
  readonly ref: ByteString;
  readonly oldOid: string;
  readonly newOid: string;
  /** What an annotated tag at `newOid` peels to. */
  readonly peeledOid?: string;
}

export type CommandResult =
  | { readonly ref: ByteString; readonly status: "ok" }
  | { readonly ref: ByteString; readonly status: "rejected"; readonly reason: string }
  | { readonly ref: ByteString; readonly status: "unknown"; readonly reason: string };

/** The pack a push brought, indexed and checked, in the push's quarantine. */
export interface ReceivedPack {
  readonly packFile: string;
  readonly indexFile: string;
  readonly reverseIndexFile?: string;
  readonly objectCount: number;
}

/** A push whose objects are checked and whose refs may move, if the store agrees. */
export interface CheckedPush {
  readonly commands: readonly PushCommand[];
  readonly atomic: boolean;
  /** Undefined where the push brings no objects. */
  readonly pack: ReceivedPack | undefined;
  /** What the client said with `git push -o`; undefined where it said nothing. */
  readonly pushOptions?: readonly ByteString[];
}

/** Makes a push durable; answers in the order of its commands. Nothing is reported to the client before it resolves. */
export type PublishPush = (push: CheckedPush, signal: AbortSignal) => Promise<readonly CommandResult[]>;

export interface ReceivePackOptions {
  /** An empty private directory on the disk of the cache; the caller removes it. */
  readonly quarantineDir: string;
  readonly publish: PublishPush;
  /** Asked once where a push seems to lack objects. True where the repository's own files were at fault and are replaced by the next look. */
  readonly repair?: (signal: AbortSignal) => Promise<boolean>;
  readonly signal: AbortSignal;
}

export interface UploadPackOptions {
  /** "", "version=1" or "version=2"; anything else counts as "". */
  readonly gitProtocol: string;
  readonly signal: AbortSignal;
}

export interface GitObject {
  readonly oid: string;
  readonly type: "commit" | "tree" | "blob" | "tag";
  readonly sizeBytes: number;
  readonly content: Uint8Array;
}

export type GitService = "git-upload-pack" | "git-receive-pack";

/** Everything a node does with git. Views come from a lease that the caller holds until the result is consumed. */
export interface Git extends AsyncDisposable {
  /** For example "2.39.5". */
  readonly version: string;

  /** The body of `info/refs`, with the `# service=` line; answered from the view's refs without a child. */
  advertise(view: RepositoryView, service: GitService, gitProtocol: string): Iterable<Uint8Array>;

  /** One stateless request of `git-upload-pack`: `ls-refs` in process, `fetch` (and v0/v1) by `git upload-pack`. Errors: `git_failed`. */
  uploadPack(view: RepositoryView, body: AsyncIterable<Uint8Array>, options: UploadPackOptions): AsyncIterable<Uint8Array>;

  /** One stateless `git-receive-pack`: commands, quarantine, index-pack, connectivity, `publish`, report per ref. */
  receivePack(view: RepositoryView, body: AsyncIterable<Uint8Array>, options: ReceivePackOptions): AsyncIterable<Uint8Array>;

  /** The refs among `commands` whose new value is not connected to `view`'s refs plus the pack in `quarantineDir`. */
  disconnected(
    view: RepositoryView,
    quarantineDir: string,
    commands: readonly PushCommand[],
    signal: AbortSignal,
  ): Promise<readonly ByteString[]>;

  /**
   * Reads the object that a revision names: an object id, a full or short ref name, HEAD, or one of these with `^`, `~n`, `^{}` suffixes.
   * `as` peels to a commit. Undefined where nothing has that name. Errors: `invalid_argument` for a revision that could be an option.
   */
  readObject(view: RepositoryView, revision: ByteString, as: "any" | "commit", signal: AbortSignal): Promise<GitObject | undefined>;
}
