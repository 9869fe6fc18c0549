import { AsyncLocalStorage } from "node:async_hooks";
import type { Host } from "./hosts/host.ts";
import type { QueryResult, Values } from "./hosts/query.ts";
import type { Position } from "./position/position.ts";
import type { TokenStickingStore } from "./sticking/token-sticking-store.ts";

export type IsolationLevel = "read committed" | "repeatable read" | "serializable";

/** The transaction that code runs in. */
export interface OpenTransaction {
  /** False from the moment its function has returned. */
  readonly open: boolean;
  /** Gives all of it up. */
  readonly signal: AbortSignal;
  query<R>(text: string, values: Values, signal: AbortSignal): Promise<QueryResult<R>>;
  /** Runs `fn` under a savepoint; with `readOnly`, writes in it are refused. */
  nested<T>(
    fn: () => Promise<T>,
    options: { readonly readOnly: boolean; readonly isolationLevel?: IsolationLevel },
    signal: AbortSignal,
  ): Promise<T>;
}

/** What a unit of work (a request, a job) is bound to from its start. */
export interface SessionBinding {
  /** Keys of the sticking store. */
  readonly keys: readonly string[];
  /** What the caller carries, where it may carry anything. */
  readonly token: TokenStickingStore | undefined;
  /** What it must see, beside what the keys and the token say. */
  readonly required: readonly Position[];
}

/** What a unit of work has done so far. Lives as long as the outermost `session` or block call. */
export class Session {
  readonly binding: SessionBinding;
  /** Reads go to the primary from here on. */
  stuck: boolean;
  performedWrite = false;
  /** It has written what later sessions of its keys must see, and they do not know yet. */
  unpublished = false;
  /** Its caller has been told of some of that that it was done. */
  acknowledged = false;
  /** Its function has returned; what still comes is published at once. */
  ended = false;
  /** The server that answered its reads, so that they never go back in time. */
  pinned: Host | undefined;
  /** Replicas that serve its reads have reached all of these. Known once `prepared` is settled. */
  required: readonly Position[];
  prepared: Promise<void> | undefined;
  /** Replicas that were asked and had reached what is required. */
  caughtUp: Set<Host> | undefined;

  constructor(binding: SessionBinding = unbound, stuck = false) {
    this.binding = binding;
    this.required = binding.required;
    this.stuck = stuck;
  }
}

const unbound: SessionBinding = { keys: [], token: undefined, required: [] };

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

const blockRoute = { replica: false, reason: "block" } as const;
const stickyRoute = { replica: false, reason: "sticky" } as const;
const replicaRoute = { replica: true, reason: "ok" } as const;

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
    if (frame.reads === "primary") return blockRoute;
    return frame.session.stuck && frame.reads !== "replicas" ? stickyRoute : replicaRoute;
  }

  /** Whether what may or may not write is tried on a replica first. */
  static ambiguousToReplica(frame: Frame): boolean {
    const { session } = frame;
    return frame.ambiguousToReplicas && frame.reads !== "primary" && !session.stuck && !session.performedWrite;
  }

  /** Whether reads on replicas must not be older than the session's keys and earlier reads ask for. */
  static followsWrites(frame: Frame): boolean {
    return frame.reads === "default";
  }
}
