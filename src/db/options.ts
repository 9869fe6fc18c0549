import type { Clock, Random } from "../base/index.ts";
import type { Logger, Metrics } from "../observability/index.ts";
import { type ClassifierOptions, defaultClassifierOptions } from "./classify.ts";
import { defaultExecutorOptions, type ExecutorOptions } from "./executor.ts";
import { defaultHostOptions, type HostOptions, type QueryResult } from "./hosts/host.ts";
import { defaultHostMonitorOptions, type HostMonitorOptions } from "./hosts/host-monitor.ts";
import { defaultMemoryStickingOptions, type StickKey } from "./sticking.ts";
import type { IsolationLevel } from "./transaction.ts";

/** How a load balancer is set up; only `primary` must be given. */
export interface LoadBalancerOptions extends HostOptions, HostMonitorOptions, ExecutorOptions, ClassifierOptions {
  /**
   * `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, or several servers, `HOST:PORT,HOST:PORT`, of which the one that accepts writes is
   * found; `target_session_attrs` says what the others are for.
   */
  readonly primary: string;
  /** URLs, or bare `HOST` or `HOST:PORT`, which take the rest from the primary's URL. Default none: everything runs on the primary. */
  readonly replicas: readonly string[];
  /** How keys named in `session({ stick })` are remembered. */
  readonly sticking: { readonly expirationMs: number };
}

export const defaultLoadBalancerOptions: Omit<LoadBalancerOptions, "primary"> = {
  replicas: [],
  sticking: { expirationMs: defaultMemoryStickingOptions.expirationMs },
  ...defaultHostOptions,
  ...defaultHostMonitorOptions,
  ...defaultExecutorOptions,
  ...defaultClassifierOptions,
};

/** Collaborators; each has a default. */
export interface LoadBalancerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** One statement's options. */
export interface QueryOptions {
  readonly signal?: AbortSignal;
  /** Says that a statement the classifier cannot judge only reads. Refused for a statement that certainly writes. */
  readonly hint?: "read";
}

/** One transaction's options. */
export interface TransactionOptions {
  /** Nothing is written: it may run on a replica. Default false. */
  readonly readOnly?: boolean;
  /** Default: the server's. "serializable" runs on the primary, since standbys do not have it. */
  readonly isolationLevel?: IsolationLevel;
  readonly signal?: AbortSignal;
}

/** What a transaction's function is given. */
export interface TransactionHandle {
  query<R = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    options?: { signal?: AbortSignal },
  ): Promise<QueryResult<R>>;
}

/** A session's options. */
export interface SessionOptions {
  /** A write sticks later sessions with one of these keys to the primary too, for a while. */
  readonly stick?: readonly StickKey[];
}
