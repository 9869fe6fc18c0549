import { type Clock, CodedError, type Random, startDeadline } from "../base/index.ts";
import type { DbMetrics } from "./db-metrics.ts";
import { type ErrorClass, errorClass, isClientTimeout } from "./hosts/error-class.ts";
import type { Host } from "./hosts/host.ts";
import { type HostList, noReplicaReason, pickReplica, type ReplicaChoice, type ReplicaState } from "./hosts/host-list.ts";
import type { HostMonitor } from "./hosts/host-monitor.ts";
import { Permit } from "./overload/permit.ts";
import type { PrimaryGate, ReadKind } from "./overload/primary-gate.ts";
import type { RetryBudget } from "./overload/retry-budget.ts";
import type { Session } from "./session.ts";
import type { Sticking } from "./sticking/sticking.ts";

/** How often and how patiently the primary is tried. */
export interface ExecutorOptions {
  /** Attempts to run a write on the primary before the call fails; only what certainly was not done is tried again. Default 5. */
  readonly primaryAttempts: number;
  /**
   * Wait before the third attempt, doubled each time, with full jitter; the second comes within 100 ms, since one broken connection
   * says little. Reads wait 100 ms at first and have three attempts. Default 2000 ms.
   */
  readonly primaryBackoffMs: number;
  /** No attempt begins later than this after the first. Default 15000 ms. */
  readonly primaryDeadlineMs: number;
  /** How a replica is chosen: the less busy of two random ones, or any of them. Default "least_outstanding". */
  readonly replicaChoice: ReplicaChoice;
}

export const defaultExecutorOptions: ExecutorOptions = {
  primaryAttempts: 5,
  primaryBackoffMs: 2000,
  primaryDeadlineMs: 15_000,
  replicaChoice: "least_outstanding",
};

/** What the executor works with. */
export interface ExecutorDeps {
  readonly hosts: HostList;
  readonly monitor: HostMonitor;
  readonly sticking: Sticking;
  /** Undefined where there never are replicas: the primary is then where reads belong. */
  readonly gate: PrimaryGate | undefined;
  readonly retries: RetryBudget;
  readonly metrics: DbMetrics;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Work on one server; it may be called again, for another one or the same, when it fails in a way that allows it. Work that keeps
 * its connection retains the permit.
 */
export type Attempt<T> = (host: Host, permit: Permit) => Promise<T>;

/** A read that may go to a replica. */
export interface ReadPlan {
  readonly session: Session;
  /** Only replicas that have what the session must see will do. */
  readonly followsWrites: boolean;
  /** It certainly changes nothing, so that it may be repeated. */
  readonly repeatable: boolean;
  /** Where no other replica is left, one that lags no more than this will do. */
  readonly maxStalenessMs: number | undefined;
  /** A replica refused it as a write. */
  onMisroute(): void;
  /** Does what has to be done around it when it then runs on the primary. */
  refused?<T>(onPrimary: () => Promise<T>): Promise<T>;
}

/** A read that has been tried once. */
interface FailedTry {
  readonly host: Host;
  readonly error: unknown;
}

/** What may be done about work on the primary that failed. */
interface PrimaryPlan {
  /** Doing it twice does no harm, so that it is tried again when its outcome is not known. */
  readonly idempotent: boolean;
  /** A server that refuses it as a write has done nothing of it. */
  readonly refusedWhole: boolean;
  /** A server that loses its connection undoes it. */
  readonly undoneWhenLost: boolean;
  /** It is a read: its caller waits for no failover to end. */
  readonly reading: boolean;
}

/** Work that may write. */
export interface WritePlan extends PrimaryPlan {
  /** For the metric. */
  readonly kind: string;
}

/** Why a read that could go to a replica ended at the primary. */
type FallbackReason = "no_replica" | "lag" | "conflict" | "misroute" | "sticky";

const readKinds: Readonly<Record<FallbackReason | "block" | "ambiguous", ReadKind>> = {
  no_replica: "fallback",
  lag: "fallback",
  conflict: "fallback",
  misroute: "sticky",
  sticky: "sticky",
  block: "sticky",
  ambiguous: "sticky",
};

const answered = { target: "replica", reason: "ok" };
const answeredStale = { target: "replica", reason: "stale" };
const none: ReadonlySet<Host> = new Set();

// Times a read is cancelled by recovery, per replica, before the primary is asked.
const conflictsPerReplica = 3;
// Readers do not wait for a failover to end.
const firstBackoffMs = 100;
const maxReadAttempts = 3;

/** Tries servers in order and decides, by the class of the error, whether another one may be tried. */
export class Executor {
  readonly #options: ExecutorOptions;
  readonly #deps: ExecutorDeps;

  constructor(options: ExecutorOptions, deps: ExecutorDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Runs a read on a replica, on another where one fails, at last on the primary. */
  read<T>(plan: ReadPlan, attempt: Attempt<T>, signal: AbortSignal): Promise<T> {
    this.#noteRead();
    const host = this.#chooseAtOnce(plan);
    if (!host) return this.#search(plan, attempt, signal);
    return attempt(host, Permit.none).then(
      (value) => {
        plan.session.pinned = host;
        this.#deps.metrics.reads.add(1, answered);
        return value;
      },
      (error: unknown) => this.#search(plan, attempt, signal, { host, error }),
    );
  }

  /** All that a read may need beyond its first try on a replica that is there; `failed` is that try. */
  async #search<T>(plan: ReadPlan, attempt: Attempt<T>, signal: AbortSignal, failed?: FailedTry): Promise<T> {
    const { session } = plan;
    const excluded = new Set<Host>();
    const conflicted = new Set<Host>();
    const lostOnce = new Set<Host>();
    const maxConflicts = conflictsPerReplica * this.#deps.hosts.snapshot.replicas.length;
    let conflicts = 0;
    let reason: FallbackReason | undefined;
    let failure: { readonly error: unknown } | undefined;
    for (let last = failed; ; last = undefined) {
      if (!last) {
        const fresh = await this.#choose(plan, excluded, conflicted);
        signal.throwIfAborted();
        const host = fresh ?? this.#staler(plan, excluded);
        if (!host) break;
        if (failure) this.#spendRetry(failure.error);
        try {
          const value = await attempt(host, Permit.none);
          session.pinned = host;
          this.#deps.metrics.reads.add(1, fresh ? answered : answeredStale);
          return value;
        } catch (error) {
          last = { host, error };
        }
      }
      const { host, error } = last;
      const kind = this.#note(host, error, signal);
      const lost = kind === "lost" || isClientTimeout(error);
      failure = { error: lost ? (plan.repeatable ? finalError(host, kind, error) : outcomeUnknown(host, error)) : error };
      if (kind === "misroute") {
        reason = "misroute";
        plan.onMisroute();
        break;
      }
      if (kind === "conflict") {
        conflicted.add(host);
        if (++conflicts < maxConflicts) continue;
        reason = "conflict";
        break;
      }
      if (kind === "statement" || kind === "slow") throw failure.error;
      // One loss may be an idle connection that died unnoticed; a second one is the server.
      if (kind === "lost" && !lostOnce.has(host)) {
        lostOnce.add(host);
        // Another one is as good, unless the session must stay.
        if (session.pinned !== host) conflicted.add(host);
      } else {
        excluded.add(host);
        if (kind === "lost") this.#deps.monitor.reportFailure(host, kind);
      }
    }
    reason ??= plan.followsWrites && session.stuck ? "sticky" : noReplicaReason(this.#deps.hosts.snapshot);
    // What a replica refused as a write is no read, and was never tried.
    if (failure && reason !== "misroute") this.#spendRetry(failure.error);
    const onPrimary = () => this.#readPrimary({ session, repeatable: plan.repeatable && reason !== "misroute" }, attempt, reason, signal);
    return reason === "misroute" && plan.refused ? await plan.refused(onPrimary) : await onPrimary();
  }

  /** Runs a read on the primary that belongs there. */
  async readPrimary<T>(
    plan: Pick<ReadPlan, "session" | "repeatable">,
    attempt: Attempt<T>,
    reason: "sticky" | "block" | "ambiguous",
    signal: AbortSignal,
  ): Promise<T> {
    this.#noteRead();
    return await this.#readPrimary(plan, attempt, reason, signal);
  }

  async #readPrimary<T>(
    { session, repeatable }: Pick<ReadPlan, "session" | "repeatable">,
    attempt: Attempt<T>,
    reason: FallbackReason | "block" | "ambiguous",
    signal: AbortSignal,
  ): Promise<T> {
    const plan = { idempotent: repeatable, refusedWhole: true, undoneWhenLost: repeatable, reading: true };
    using permit = (await this.#deps.gate?.enter(readKinds[reason], signal)) ?? Permit.none;
    let served: Host | undefined;
    const onHost = (host: Host) => {
      served = host;
      return attempt(host, permit);
    };
    const value = await this.#onPrimary(onHost, plan, signal);
    // A replica that serves the session's next read must not be older than this answer.
    if (reason === "no_replica" || reason === "lag" || reason === "conflict") session.pinned = served;
    this.#deps.metrics.reads.add(1, { target: "primary", reason });
    return value;
  }

  /** Runs what may write on the primary. Errors: `database_unavailable` (nothing happened), `outcome_unknown`. */
  write<T>(plan: WritePlan, attempt: Attempt<T>, signal: AbortSignal): Promise<T> {
    this.#deps.metrics.writes.add(1, { kind: plan.kind });
    this.#deps.retries.noteRequest();
    return this.#onPrimary(attempt, plan, signal);
  }

  #onPrimary<T>(attempt: Attempt<T>, plan: PrimaryPlan, signal: AbortSignal): Promise<T> {
    const startedMs = this.#deps.clock.monotonic();
    const host = this.#deps.hosts.snapshot.primary?.host;
    if (!host) return this.#persist(attempt, plan, signal, startedMs, undefined);
    return attempt(host, Permit.none).catch((error: unknown) => this.#persist(attempt, plan, signal, startedMs, { host, error }));
  }

  /** All that the primary may need beyond a first try that succeeds; `failed` is that try. */
  async #persist<T>(
    attempt: Attempt<T>,
    plan: PrimaryPlan,
    signal: AbortSignal,
    startedMs: number,
    failed: FailedTry | undefined,
  ): Promise<T> {
    const { clock, hosts, retries } = this.#deps;
    const endMs = startedMs + this.#options.primaryDeadlineMs;
    let repeatedAtOnce = false;
    let maybeDone = false;
    for (let tries = 1, last = failed; ; tries++, last = undefined) {
      const host = last ? last.host : hosts.snapshot.primary?.host;
      let failure = last ? last.error : noPrimary(hosts.snapshot.withoutPrimary);
      if (host && !last) {
        try {
          return await attempt(host, Permit.none);
        } catch (error) {
          failure = error;
        }
      }
      const kind = host ? this.#note(host, failure, signal) : "connect_failed";
      if (signal.aborted) throw failure;
      const lost = kind === "lost" || isClientTimeout(failure);
      // A read whose connection had died unnoticed is repeated once, at once.
      if (kind === "lost" && plan.idempotent && plan.reading && !repeatedAtOnce && retries.spend()) {
        repeatedAtOnce = true;
        continue;
      }
      // From here on no failure says that nothing happened.
      maybeDone ||= lost && !plan.undoneWhenLost;
      const untouched = kind === "connect_failed" || (kind === "misroute" && plan.refusedWhole);
      const final = maybeDone ? outcomeUnknown(host, failure) : lost || untouched ? finalError(host, kind, failure) : failure;
      if (lost ? !plan.idempotent || plan.reading : !untouched) throw final;
      const delayMs = this.#delayMs(tries, plan.reading);
      if (delayMs === undefined || clock.monotonic() + delayMs >= endMs) throw final;
      // A new primary ends the wait.
      using patience = startDeadline(clock, delayMs, signal);
      await hosts.primaryOtherThan(host, patience.signal).catch(() => signal.throwIfAborted());
      // A new primary has not been asked yet.
      if (host && hosts.snapshot.primary?.host === host) this.#spendRetry(final);
    }
  }

  /** The wait before another attempt; undefined where there is none. */
  #delayMs(tries: number, reading: boolean): number | undefined {
    const { primaryAttempts, primaryBackoffMs } = this.#options;
    if (tries >= (reading ? Math.min(maxReadAttempts, primaryAttempts) : primaryAttempts)) return undefined;
    const quickMs = Math.min(firstBackoffMs, primaryBackoffMs);
    if (tries === 1 || reading) return this.#deps.random.float() * quickMs * 2 ** (tries - 1);
    return this.#deps.random.float() * primaryBackoffMs * 2 ** (tries - 2);
  }

  /** What {@link Executor.#choose} finds, where nothing has to be asked and nothing has failed. */
  #chooseAtOnce({ session, followsWrites }: ReadPlan): Host | undefined {
    const { hosts, sticking, random } = this.#deps;
    const { replicas } = hosts.snapshot;
    const { pinned } = session;
    if (pinned) {
      const state = replicas.find(({ host }) => host === pinned);
      return state?.usable && (!followsWrites || sticking.serves(session, state)) ? pinned : undefined;
    }
    if (followsWrites) {
      if (session.stuck) return undefined;
      for (const replica of replicas) if (!sticking.serves(session, replica)) return undefined;
    }
    return pickReplica(hosts.snapshot, none, random, this.#options.replicaChoice);
  }

  async #choose(plan: ReadPlan, excluded: ReadonlySet<Host>, conflicted: Set<Host>): Promise<Host | undefined> {
    const { hosts, sticking, random } = this.#deps;
    const { session, followsWrites } = plan;
    const { pinned } = session;
    if (pinned) {
      // A read that did not follow writes may have gone to a replica that is not for those that do.
      const fits = (replica: ReplicaState) => replica.usable && (!followsWrites || sticking.serves(session, replica));
      const stays = hosts.snapshot.replicas.some((replica) => replica.host === pinned && fits(replica));
      if (stays && !excluded.has(pinned) && !conflicted.has(pinned)) return pinned;
      if (followsWrites) await sticking.moveOn(session);
    }
    if (followsWrites && session.stuck) return undefined;
    const { snapshot } = hosts;
    const unfit = snapshot.replicas.filter((replica) => followsWrites && !sticking.serves(session, replica)).map(({ host }) => host);
    const { replicaChoice } = this.#options;
    const picked = pickReplica(snapshot, new Set([...excluded, ...conflicted, ...unfit]), random, replicaChoice);
    if (picked || conflicted.size === 0) return picked;
    conflicted.clear();
    return pickReplica(snapshot, new Set([...excluded, ...unfit]), random, replicaChoice);
  }

  /** A replica that is out for its lag alone, and lags no more than the caller allows. */
  #staler({ session, followsWrites, maxStalenessMs }: ReadPlan, excluded: ReadonlySet<Host>): Host | undefined {
    if (maxStalenessMs === undefined || (followsWrites && session.stuck)) return undefined;
    const { hosts, sticking } = this.#deps;
    const fit = hosts.snapshot.replicas.filter(
      (state) =>
        state.reason === "lag" &&
        state.lagMs !== undefined &&
        state.lagMs <= maxStalenessMs &&
        !excluded.has(state.host) &&
        (!followsWrites || sticking.serves(session, state)),
    );
    return fit.sort((a, b) => (a.lagMs as number) - (b.lagMs as number))[0]?.host;
  }

  #noteRead(): void {
    this.#deps.gate?.noteRead();
    this.#deps.retries.noteRequest();
  }

  /** Before each further try. Throws what the last one failed with, where there have been too many. */
  #spendRetry(failure: unknown): void {
    if (this.#deps.retries.spend()) return;
    this.#deps.metrics.shed.add(1, { reason: "retry" });
    throw failure;
  }

  /** Classes and counts a failure, and reports the host where it is the host's. */
  #note(host: Host, error: unknown, signal: AbortSignal): ErrorClass {
    if (signal.aborted) return "statement";
    const kind = errorClass(error);
    if (kind !== "statement") this.#deps.metrics.errors.add(1, { host: host.name, class: kind });
    if (host.role === "primary" && (kind === "overload" || kind === "slow" || kind === "lost")) this.#deps.gate?.noteTrouble();
    if (kind === "connect_failed" || kind === "config" || isClientTimeout(error)) this.#deps.monitor.reportFailure(host, kind);
    return kind;
  }
}

function noPrimary(reason: string): CodedError {
  return new CodedError("database_unavailable", "no database server accepts writes", { reason }, { retryAfterMs: 1000 });
}

function finalError(host: Host | undefined, kind: ErrorClass, cause: unknown): unknown {
  if (CodedError.is(cause)) return cause;
  const fields = { host: host?.name };
  if (kind === "misroute") return unavailable("the database server does not accept writes", fields, cause, 1000);
  // The driver found its connection gone before it sent anything.
  if (kind === "connect_failed") return unavailable("the database server cannot be reached", fields, cause, 1000);
  if (kind === "slow") return unavailable("the database server did not answer in time", fields, cause);
  return unavailable("the connection to the database server was lost", fields, cause);
}

function unavailable(message: string, fields: { host: string | undefined }, cause: unknown, retryAfterMs?: number): CodedError {
  return new CodedError("database_unavailable", message, fields, { cause, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
}

function outcomeUnknown(host: Host | undefined, cause: unknown): CodedError {
  const message = "the connection was lost while a statement ran; it may have been applied";
  return new CodedError("outcome_unknown", message, { host: host?.name }, { cause });
}
