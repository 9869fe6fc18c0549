/** What went wrong, as a closed set: callers and tests decide on these, never on messages. */
export type Code =
  /** The caller's input is wrong; the same call will always fail. */
  | "invalid_argument"
  /** A relative path breaks the rules for repository names. */
  | "invalid_path"
  /** The named repository does not exist. */
  | "repository_not_found"
  /** The named repository exists already. */
  | "repository_exists"
  /** Something other than a repository is missing. */
  | "not_found"
  /** The state of the system forbids the call until someone changes it. */
  | "failed_precondition"
  /** The object store failed its start-up probe for writes; reads go on. */
  | "store_refuses_writes"
  /** A concurrent writer won; try again from the newest state. */
  | "conflict"
  /** Whether the write was applied is not known; fetch and compare. */
  | "outcome_unknown"
  /** A stored artifact or record does not match its name or digest. */
  | "corrupt"
  /** An artifact that a manifest names is gone from the store. */
  | "artifact_missing"
  /** The object store cannot be reached or answers with errors. */
  | "store_unavailable"
  /** PostgreSQL cannot be reached, or every server that could answer is over its budget. */
  | "database_unavailable"
  /** The node cannot serve yet, or no longer. */
  | "node_unavailable"
  /** No owner answered, or redirects went on for too long. */
  | "redirect_exhausted"
  /** A limit on size, count, nesting, concurrency or disk space is reached. */
  | "limit_exceeded"
  /** A deadline passed. */
  | "deadline_exceeded"
  /** The caller went away. */
  | "cancelled"
  /** No or malformed credentials. */
  | "unauthenticated"
  /** The credentials do not allow this. */
  | "permission_denied"
  /** A peer broke its protocol. */
  | "protocol_error"
  /** A git child failed. */
  | "git_failed"
  /** A key, flag or file of the configuration is wrong. */
  | "bad_config"
  /** Another process uses the data directory. */
  | "data_dir_in_use"
  /** The peer belongs to another cluster, or does not share its keys or versions. */
  | "cluster_mismatch"
  /** A write inside a transaction that runs on a replica. */
  | "write_inside_read_only_transaction"
  /** Named in the documentation, not there yet. */
  | "not_built_yet"
  /** A defect of ours. */
  | "internal";

export type Fields = Readonly<Record<string, unknown>>;

const brand = Symbol.for("gitaly-gossip.CodedError");

/** `message` is constant per call site; everything that varies goes in `fields`. */
export class CodedError extends Error {
  readonly code: Code;
  readonly fields: Fields;
  /** Milliseconds after which the caller may try again, where that can help. */
  readonly retryAfterMs: number | undefined;
  readonly [brand] = true;

  constructor(code: Code, message: string, fields: Fields = {}, options: ErrorOptions & { retryAfterMs?: number } = {}) {
    super(message, options);
    this.name = "CodedError";
    this.code = code;
    this.fields = fields;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** True for a CodedError, also one of another copy of this package; with `code`, only for that code. */
  static is(value: unknown, code?: Code): value is CodedError {
    return value instanceof Error && brand in value && (code === undefined || (value as CodedError).code === code);
  }
}

/** The errno name (`ENOENT`) of a platform error, else undefined. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = (error as NodeJS.ErrnoException).code;
  return typeof code === "string" ? code : undefined;
}
