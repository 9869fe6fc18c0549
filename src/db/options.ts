import type { Clock, Random } from "../base/index.ts";
import type { Logger, Metrics } from "../observability/index.ts";
import { type ClassifierOptions, defaultClassifierOptions } from "./classify.ts";
import type { DiscoveryOptions } from "./discovery/discovery-options.ts";
import { defaultExecutorOptions, type ExecutorOptions } from "./executor.ts";
import { defaultHostOptions, type HostOptions } from "./hosts/host.ts";
import { defaultHostMonitorOptions, type HostMonitorOptions } from "./hosts/host-monitor.ts";
import type { QueryResult } from "./hosts/query.ts";
import type { JobCheck } from "./jobs/job-positions.ts";
import { defaultOverloadOptions, type OverloadOptions } from "./overload/overload-options.ts";
import type { IsolationLevel } from "./session.ts";
import type { PositionTokenOptions } from "./sticking/position-tokens.ts";
import { defaultStickingOptions, type StickingOptions } from "./sticking/sticking.ts";
import type { StickKey } from "./sticking/sticking-key.ts";
import type { StickingStore } from "./sticking/sticking-store.ts";
import type { TokenStickingStore } from "./sticking/token-sticking-store.ts";
import type { ProcessRole, Switches, SwitchName, SwitchSettings } from "./switches.ts";

/** How a load balancer is set up; only `primary` must be given. */
export interface LoadBalancerOptions extends HostOptions, Omit<HostMonitorOptions, SwitchName>, ExecutorOptions, ClassifierOptions {
  /** Tells several databases apart in sticking keys, tokens and jobs. Default "main". */
  readonly name: string;
  /**
   * `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, or several servers, `HOST:PORT,HOST:PORT`, of which the one that accepts writes is
   * found; `target_session_attrs` says what the others are for.
   */
  readonly primary: string;
  /** URLs, or bare `HOST` or `HOST:PORT`, which take the rest from the primary's URL. Default none: everything runs on the primary. */
  readonly replicas: readonly string[];
  /** How more servers are found, beside those that are listed here. Default: not at all. */
  readonly discovery?: DiscoveryOptions;
  /** What protects the primary from reads that find no replica. */
  readonly overload: OverloadOptions;
  /** How later sessions see what was written for their keys. */
  readonly sticking: SharedStickingOptions;
  /** What this process does, for switches that differ by that. Default "web". */
  readonly processRole: ProcessRole;
  /** What is turned on and off; may be changed later through `switches.set`. Several load balancers may share one `Switches`. */
  readonly switches: SwitchSettings | Switches;
}

/** How sessions see what other sessions wrote. */
export interface SharedStickingOptions extends StickingOptions {
  /** What a session wrote is remembered for this long. A store that is given has its own. Default 30000 ms. */
  readonly expirationMs: number;
  /** Where it is remembered. Default: in this process. */
  readonly store?: StickingStore;
  /**
   * Signs the tokens that callers carry; the same in every process that takes them, at least 16 bytes. Of several the first signs and
   * all are believed, so that one can be replaced. Default none: no tokens.
   */
  readonly secret?: PositionTokenOptions["secret"];
  /** What tokens are for, so that another system with the same secret does not take them. Default "". */
  readonly audience: string;
}

export const defaultLoadBalancerOptions: Omit<LoadBalancerOptions, "primary"> = {
  name: "main",
  replicas: [],
  overload: defaultOverloadOptions,
  sticking: { ...defaultStickingOptions, expirationMs: 30_000, audience: "" },
  processRole: "web",
  switches: {},
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
  /** Doing it twice does no harm: a write whose connection is lost is tried again. Default false. */
  readonly idempotent?: boolean;
  /** A read takes a replica that is out for its lag, but lags no more than this, rather than the primary. Default: none. */
  readonly maxStalenessMs?: number;
}

/** One transaction's options. */
export interface TransactionOptions {
  /** Nothing is written: it may run on a replica. Default false. */
  readonly readOnly?: boolean;
  /** Default: the server's. "serializable" runs on the primary, since standbys do not have it. */
  readonly isolationLevel?: IsolationLevel;
  /** As in {@link QueryOptions}, for a transaction with `readOnly`. */
  readonly maxStalenessMs?: number;
  /** Its function may be run again as a whole, at most twice, when the server cancels it for another transaction's sake. Default false. */
  readonly retryTransaction?: boolean;
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
  /** Later sessions with one of these keys see what this one wrote, for a while: on replicas that have it, or on the primary. */
  readonly stick?: readonly StickKey[];
  /** What `positionToken` gave to the caller; several where it had several calls in flight. Whatever is not valid counts for nothing. */
  readonly token?: string | readonly string[] | TokenStickingStore;
  /** What `checkJob` found out: the session reads where the job may. */
  readonly job?: JobCheck;
}
