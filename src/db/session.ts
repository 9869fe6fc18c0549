import { AsyncLocalStorage } from "node:async_hooks";
import type { Host, QueryResult, Values } from "./hosts/host.ts";

/** The transaction that code runs in. */
export interface OpenTransaction {
  /** False from the moment its function has returned. */
  readonly open: boolean;
  query<R>(text: string, values: Values, signal: AbortSignal): Promise<QueryResult<R>>;
  /** Runs `fn` under a savepoint; with `readOnly`, writes in it are refused. */
  nested<T>(fn: () => Promise<T>, options: { readOnly: boolean }, signal: AbortSignal): Promise<T>;
}

/** What a unit of work (a request, a job) has done so far. Lives as long as the outermost `session` or block call. */
export class Session {
  /** Keys of the sticking store; "" namespaces never occur. */
  readonly keys: readonly string[];
  /** Reads go to the primary from here on. */
  stuck: boolean;
  performedWrite = false;
  /** The replica that serves this session's reads, so that they never go back in time. */
  pinned: Host | undefined;

  constructor(keys: readonly string[] = [], stuck = false) {
    this.keys = keys;
    this.stuck = stuck;
  }
}

/** Where code runs: its session and the blocks around it. Immutable, so that leaving a block restores what was before. */
export interface Frame {
  readonly session: Session;
  /** The innermost of `usePrimary` and `useReplicasForReadQueries`. */
  readonly reads: "default" | "primary" | "replicas";
  readonly ambiguousToReplicas: boolean;
  readonly ignoreWrites: boolean;
  readonly onWrite: "primary" | "throw";
  readonly transaction: OpenTransaction | undefined;
}

/** The frame of code that runs in no block at all. */
export function outermostFrame(session: Session): Frame {
  return { session, reads: "default", ambiguousToReplicas: false, ignoreWrites: false, onWrite: "primary", transaction: undefined };
}

/** Carries the frame along asynchronous calls. One per load balancer. */
export class Frames {
  readonly #storage = new AsyncLocalStorage<Frame>();

  /** The surrounding frame; where there is none, a new one that nothing else shares. */
  get current(): Frame {
    return this.#storage.getStore() ?? outermostFrame(new Session());
  }

  run<T>(frame: Frame, fn: () => Promise<T>): Promise<T> {
    return this.#storage.run(frame, fn);
  }

  /** Whether a read without further hints goes to a replica, and why not where it does not. */
  static readRoute(frame: Frame): { readonly replica: boolean; readonly reason: "ok" | "block" | "sticky" } {
    if (frame.reads === "primary") return { replica: false, reason: "block" };
    if (frame.reads === "replicas") return { replica: true, reason: "ok" };
    return frame.session.stuck ? { replica: false, reason: "sticky" } : { replica: true, reason: "ok" };
  }

  /** Whether what may or may not write is tried on a replica first. */
  static ambiguousToReplica(frame: Frame): boolean {
    const { session } = frame;
    return frame.ambiguousToReplicas && frame.reads !== "primary" && !session.stuck && !session.performedWrite;
  }
}
