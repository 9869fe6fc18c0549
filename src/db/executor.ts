import { type Clock, CodedError, type Random } from "../base/index.ts";
import type { DbMetrics } from "./db-metrics.ts";
import { type ErrorClass, errorClass } from "./hosts/error-class.ts";
import { type Host, NotConnectedError } from "./hosts/host.ts";
import { type HostList, noReplicaReason, pickReplica } from "./hosts/host-list.ts";
import type { HostMonitor } from "./hosts/host-monitor.ts";
import type { Session } from "./session.ts";

/** How often and how patiently the primary is tried. */
export interface ExecutorOptions {
  /** Attempts to reach the primary before a call fails; only what was never sent is tried again. Default 3. */
  readonly primaryAttempts: number;
  /** Wait before the second attempt, doubled each time, with full jitter. Default 100 ms. */
  readonly primaryBackoffMs: number;
}

export const defaultExecutorOptions: ExecutorOptions = { primaryAttempts: 3, primaryBackoffMs: 100 };

/** What the executor works with. */
export interface ExecutorDeps {
  readonly hosts: HostList;
  readonly monitor: HostMonitor;
  readonly metrics: DbMetrics;
  readonly clock: Clock;
  readonly random: Random;
}

/** Work on one server; it may be called again, for another one or the same, when it fails in a way that allows it. */
export type Attempt<T> = (host: Host) => Promise<T>;

/** Why a read that could go to a replica ended at the primary. */
type FallbackReason = "no_replica" | "lag" | "conflict" | "misroute";

// Times a read is cancelled by recovery, per replica, before the primary is asked.
const conflictsPerReplica = 3;

/** Tries servers in order and decides, by the class of the error, whether another one may be tried. */
export class Executor {
  readonly #options: ExecutorOptions;
  readonly #deps: ExecutorDeps;

  constructor(options: ExecutorOptions, deps: ExecutorDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Runs a read on a replica, on another where one fails, at last on the primary. `onMisroute`: a replica refused it as a write. */
  async read<T>(session: Session, attempt: Attempt<T>, onMisroute: () => void, signal: AbortSignal): Promise<T> {
    const excluded = new Set<Host>();
    const conflicted = new Set<Host>();
    const lostOnce = new Set<Host>();
    const maxConflicts = conflictsPerReplica * this.#deps.hosts.snapshot.replicas.length;
    let conflicts = 0;
    let reason: FallbackReason = noReplicaReason(this.#deps.hosts.snapshot);
    for (;;) {
      const host = this.#choose(session, excluded, conflicted);
      if (!host) break;
      try {
        const value = await attempt(host);
        session.pinned = host;
        this.#deps.metrics.reads.add(1, { target: "replica", reason: "ok" });
        return value;
      } catch (error) {
        const kind = this.#note(host, error, signal);
        if (kind === "misroute") {
          reason = "misroute";
          onMisroute();
          break;
        }
        if (kind === "conflict") {
          conflicted.add(host);
          if (++conflicts < maxConflicts) continue;
          reason = "conflict";
          break;
        }
        if (kind === "statement" || kind === "slow") throw error;
        // One loss may be an idle connection that died unnoticed; a second one is the server.
        if (kind === "lost" && !lostOnce.has(host)) lostOnce.add(host);
        else {
          excluded.add(host);
          if (kind === "lost") this.#deps.monitor.reportFailure(host, kind);
        }
      }
    }
    return await this.readPrimary(attempt, reason, signal);
  }

  /** Runs a read on the primary. */
  async readPrimary<T>(attempt: Attempt<T>, reason: FallbackReason | "block" | "sticky" | "ambiguous", signal: AbortSignal): Promise<T> {
    const value = await this.#onPrimary(attempt, true, signal);
    this.#deps.metrics.reads.add(1, { target: "primary", reason });
    return value;
  }

  /** Runs what may write on the primary. Errors: `database_unavailable` (nothing happened), `outcome_unknown`. */
  async write<T>(attempt: Attempt<T>, kind: string, signal: AbortSignal): Promise<T> {
    this.#deps.metrics.writes.add(1, { kind });
    return await this.#onPrimary(attempt, false, signal);
  }

  async #onPrimary<T>(attempt: Attempt<T>, replayable: boolean, signal: AbortSignal): Promise<T> {
    let lost = false;
    for (let tries = 1; ; tries++) {
      const primary = this.#deps.hosts.snapshot.primary?.host;
      try {
        if (!primary) throw new CodedError("database_unavailable", "no database server accepts writes", {}, { retryAfterMs: 1000 });
        return await attempt(primary);
      } catch (error) {
        const kind = primary ? this.#note(primary, error, signal) : "connect_failed";
        if (kind === "connect_failed" && tries < this.#options.primaryAttempts) {
          await this.#deps.clock.sleep(this.#deps.random.float() * this.#options.primaryBackoffMs * 2 ** (tries - 1), signal);
        } else if (kind === "lost" && replayable && !lost) {
          lost = true;
        } else if (kind === "lost") {
          throw connectionLost(primary as Host, replayable, error);
        } else {
          throw error;
        }
      }
    }
  }

  #choose(session: Session, excluded: ReadonlySet<Host>, conflicted: Set<Host>): Host | undefined {
    const { snapshot } = this.#deps.hosts;
    const except = new Set([...excluded, ...conflicted]);
    const { pinned } = session;
    if (pinned && !except.has(pinned) && snapshot.replicas.some((state) => state.host === pinned && state.usable)) return pinned;
    const picked = pickReplica(snapshot, except, this.#deps.random);
    if (picked || conflicted.size === 0) return picked;
    conflicted.clear();
    return pickReplica(snapshot, excluded, this.#deps.random);
  }

  /** Classes and counts a failure, and reports the host where it is the host's. */
  #note(host: Host, error: unknown, signal: AbortSignal): ErrorClass {
    if (signal.aborted) return "statement";
    const kind = error instanceof NotConnectedError ? error.reason : errorClass(error);
    if (kind !== "statement") this.#deps.metrics.errors.add(1, { host: host.name, class: kind });
    const silent = kind === "slow" && (error as { code?: string }).code !== "57014";
    if (kind === "connect_failed" || kind === "config" || silent) this.#deps.monitor.reportFailure(host, kind);
    return kind;
  }
}

function connectionLost(host: Host, replayable: boolean, cause: unknown): CodedError {
  return replayable
    ? new CodedError("database_unavailable", "the connection to the database server was lost", { host: host.name }, { cause })
    : new CodedError(
        "outcome_unknown",
        "the connection was lost while a statement ran; it may have been applied",
        { host: host.name },
        { cause },
      );
}
