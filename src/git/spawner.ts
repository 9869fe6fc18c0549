import type { Readable, Writable } from "node:stream";

/** A program and all that it gets. */
export interface SpawnRequest {
  /** Absolute path, or a name that is looked up in the PATH of `env`. */
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** How a child ended. */
export interface ChildExit {
  /** Undefined where a signal ended the child, or nobody saw its end. */
  readonly code: number | undefined;
  readonly signal: string | undefined;
  /** The last bytes of what the child said on stderr, at most 10,000. */
  readonly stderr: string;
  /** Why the child never started, or why its end was not seen. */
  readonly problem: string | undefined;
}

/**
 * How hard to end a child. `gentle` sends SIGTERM to the child's own children, so that it can reap them and fail by itself, or to
 * the child where it has none; the others go to the child's whole process group.
 */
export type EndStage = "gentle" | "terminate" | "kill";

/** A child whose standard streams are here. Both streams are destroyed by whoever asked for the child. */
export interface SpawnedChild {
  /** `end()` gives the child end-of-file. */
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves once the child is reaped. Never rejects. */
  readonly exited: Promise<ChildExit>;
  end(stage: EndStage): void;
}

/** Starts children in process groups of their own. */
export interface Spawner extends AsyncDisposable {
  /** `onStderr` sees what the child says while it runs, at most 64 KiB of it. Errors: `git_failed`. */
  spawn(request: SpawnRequest, onStderr?: (chunk: Uint8Array) => void): Promise<SpawnedChild>;
}
