import { CodedError, linkSignals, neverAborted, sharedAbortController, systemClock, systemRandom } from "../base/index.ts";
import { noMetrics, silentLogger } from "../observability/index.ts";
import type { Analysis } from "./analyse.ts";
import { Classifier } from "./classify.ts";
import { type DbMetrics, defineDbMetrics } from "./db-metrics.ts";
import { Executor } from "./executor.ts";
import type { Host, QueryResult, Values } from "./hosts/host.ts";
import type { HostList } from "./hosts/host-list.ts";
import { HostMonitor } from "./hosts/host-monitor.ts";
import { type HostStatus, hostStatuses } from "./hosts/host-status.ts";
import { listServers } from "./hosts/listed-server.ts";
import { MonitorLog } from "./hosts/monitor-log.ts";
import {
  defaultLoadBalancerOptions,
  type LoadBalancerDeps,
  type LoadBalancerOptions,
  type QueryOptions,
  type SessionOptions,
  type TransactionHandle,
  type TransactionOptions,
} from "./options.ts";
import { type OptionsAndWork, optionsAndWork } from "./options-and-work.ts";
import { type Frame, Frames, type OpenTransaction, outermostFrame, Session } from "./session.ts";
import { defaultMemoryStickingOptions, MemoryStickingStore, type StickingStore, stickingKeys } from "./sticking.ts";
import { Transaction, type TransactionPlan, writeRefused } from "./transaction.ts";

/** Sends reads to replicas, everything else to the primary, and keeps a session's reads behind its own writes. */
export class LoadBalancer implements AsyncDisposable {
  readonly #deps: LoadBalancerDeps;
  readonly #hosts: HostList;
  readonly #monitor: HostMonitor;
  readonly #executor: Executor;
  readonly #classifier: Classifier;
  readonly #sticking: StickingStore;
  readonly #metrics: DbMetrics;
  readonly #frames = new Frames();
  readonly #destroyed = sharedAbortController();
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(options: LoadBalancerOptions, deps: LoadBalancerDeps) {
    this.#deps = deps;
    const servers = listServers(options.primary, options.replicas);
    this.#monitor = new HostMonitor(servers, options, { ...deps, log: new MonitorLog(deps) });
    this.#hosts = this.#monitor.hosts;
    this.#metrics = defineDbMetrics(deps.metrics, this.#hosts);
    this.#executor = new Executor(options, { ...deps, hosts: this.#hosts, monitor: this.#monitor, metrics: this.#metrics });
    this.#classifier = new Classifier(options);
    this.#sticking = new MemoryStickingStore({ ...defaultMemoryStickingOptions, ...options.sticking }, deps);
  }

  /** The servers as they are judged now. */
  get status(): readonly HostStatus[] {
    return hostStatuses(this.#monitor.servers, this.#hosts.snapshot);
  }

  /** Resolves when the servers have been asked for the first time, or after a second. Calls need not wait for it. */
  get ready(): Promise<void> {
    return this.#monitor.ready;
  }

  /**
   * Runs one statement where it belongs; inside a transaction's function, in that transaction. The server's own errors
   * (syntax, constraints) pass through unchanged. Errors: `database_unavailable`, `outcome_unknown`.
   */
  async query<R = Record<string, unknown>>(text: string, values?: readonly unknown[], options: QueryOptions = {}): Promise<QueryResult<R>> {
    const frame = this.#frames.current;
    const transaction = openTransaction(frame);
    using linked = linkSignals(options.signal ?? neverAborted, this.#destroyed.signal);
    const startedMs = this.#deps.clock.monotonic();
    const [target, result] = transaction
      ? (["transaction", await transaction.query<R>(text, values, linked.signal)] as const)
      : await this.#track(() => this.#route<R>(frame, text, values, options, linked.signal));
    this.#metrics.seconds.observe((this.#deps.clock.monotonic() - startedMs) / 1000, { target });
    return result;
  }

  /** Runs `fn` as one transaction, or under a savepoint where one is open. The connection is taken with the first statement. */
  transaction<T>(fn: (tx: TransactionHandle) => Promise<T>): Promise<T>;
  transaction<T>(options: TransactionOptions, fn: (tx: TransactionHandle) => Promise<T>): Promise<T>;
  async transaction<T>(...args: OptionsAndWork<TransactionOptions, (tx: TransactionHandle) => Promise<T>>): Promise<T> {
    const [given, fn] = optionsAndWork(args);
    using linked = linkSignals(given.signal ?? neverAborted, this.#destroyed.signal);
    const { signal } = linked;
    const frame = this.#frames.current;
    const options = { ...given, readOnly: given.readOnly === true || frame.onWrite === "throw" };
    const outer = openTransaction(frame);
    if (outer) return await outer.nested(() => fn(handle(outer, signal)), options, signal);
    return await this.#track(() => this.#transact(frame, options, fn, signal));
  }

  /** Runs `fn` as one unit of work: after a write in it, its later reads go to the primary. A session inside another is its own. */
  session<T>(fn: () => Promise<T>): Promise<T>;
  session<T>(options: SessionOptions, fn: () => Promise<T>): Promise<T>;
  async session<T>(...args: OptionsAndWork<SessionOptions, () => Promise<T>>): Promise<T> {
    const [options, fn] = optionsAndWork(args);
    const keys = stickingKeys(options.stick ?? []);
    const session = new Session(keys, keys.length > 0 && (await this.#sticking.isStuck(keys)));
    return await this.#frames.run(outermostFrame(session), fn);
  }

  /** Reads in `fn` go to the primary. */
  usePrimary<T>(fn: () => Promise<T>): Promise<T> {
    return this.#within({ reads: "primary", onWrite: "primary" }, fn);
  }

  /** Reads in `fn` go to replicas, even after a write. Writes go to the primary and stick, or, with `onWrite: "throw"`, are refused. */
  useReplicasForReadQueries<T>(fn: () => Promise<T>): Promise<T>;
  useReplicasForReadQueries<T>(options: { onWrite?: "primary" | "throw" }, fn: () => Promise<T>): Promise<T>;
  useReplicasForReadQueries<T>(...args: OptionsAndWork<{ onWrite?: "primary" | "throw" }, () => Promise<T>>): Promise<T> {
    const [options, fn] = optionsAndWork(args);
    return this.#within({ reads: "replicas", onWrite: options.onWrite ?? "primary" }, fn);
  }

  /** In `fn`, what cannot be told apart (unknown functions, transactions) is tried on a replica, as long as the session has not written. */
  fallbackToReplicasForAmbiguousQueries<T>(fn: () => Promise<T>): Promise<T> {
    return this.#within({ ambiguousToReplicas: true }, fn);
  }

  /** Writes in `fn` do not stick. */
  ignoreWrites<T>(fn: () => Promise<T>): Promise<T> {
    return this.#within({ ignoreWrites: true }, fn);
  }

  /** Refuses new work, waits for what runs, closes every connection. */
  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  /** Like `close`, but what runs is given up. */
  async destroy(): Promise<void> {
    this.#destroyed.abort(closedError());
    await this.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #shutDown(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
    await this.#monitor[Symbol.asyncDispose]();
  }

  /** Work that `close` waits for; none begins after it. */
  async #track<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing) throw closedError();
    const running = work();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async #transact<T>(frame: Frame, options: ReadOnlyKnown, fn: (tx: TransactionHandle) => Promise<T>, signal: AbortSignal): Promise<T> {
    const transaction = new Transaction({
      analyse: (text) => this.#classifier.analyse(text),
      start: (first, text, begin, signal) => this.#startTransaction(frame, options, first, text, begin, signal),
    });
    try {
      const value = await this.#frames.run({ ...frame, transaction }, () => fn(handle(transaction, signal)));
      await transaction.commit(signal).finally(() => (transaction.mayHaveWritten ? this.#wrote(frame) : undefined));
      return value;
    } catch (error) {
      await transaction.rollback();
      throw error;
    } finally {
      transaction.release();
    }
  }

  #within<T>(change: Partial<Frame>, fn: () => Promise<T>): Promise<T> {
    return this.#frames.run({ ...this.#frames.current, ...change }, fn);
  }

  async #route<R>(
    frame: Frame,
    text: string,
    values: Values,
    options: QueryOptions,
    signal: AbortSignal,
  ): Promise<["primary" | "replica", QueryResult<R>]> {
    const analysis = this.#classifier.analyse(text);
    if (analysis.kind === "transaction") {
      throw new CodedError("invalid_argument", "transaction control belongs to transaction()", { reasons: analysis.reasons });
    }
    let answeredBy: Host | undefined;
    const attempt = async (host: Host) => {
      answeredBy = host;
      return await host.query<R>(text, values, { discard: analysis.leavesState }, signal);
    };
    const result =
      readsOnly(analysis, options) || (analysis.kind === "ambiguous" && Frames.ambiguousToReplica(frame))
        ? await this.#read(frame, analysis, text, attempt, signal)
        : await this.#write(frame, analysis, attempt, signal);
    return [answeredBy?.role ?? "primary", result];
  }

  async #read<T>(frame: Frame, analysis: Analysis, text: string, attempt: (host: Host) => Promise<T>, signal: AbortSignal): Promise<T> {
    const route = Frames.readRoute(frame);
    if (!route.replica) return await this.#executor.readPrimary(attempt, route.reason === "sticky" ? "sticky" : "block", signal);
    // A replica takes one statement at a time, and the server does not parse several with parameters.
    if (analysis.statementCount > 1) return await this.#executor.readPrimary(attempt, "ambiguous", signal);
    let refused = false;
    const onMisroute = () => {
      this.#classifier.learnWrite(text);
      if (frame.onWrite === "throw") throw writeRefused(analysis.reasons);
      refused = true;
      if (!frame.ignoreWrites) frame.session.stuck = true;
      frame.session.performedWrite = true;
    };
    const value = await this.#executor.read(frame.session, attempt, onMisroute, signal);
    if (refused) await this.#wrote(frame);
    return value;
  }

  async #write<T>(frame: Frame, analysis: Analysis, attempt: (host: Host) => Promise<T>, signal: AbortSignal): Promise<T> {
    if (analysis.kind === "empty") return await this.#executor.readPrimary(attempt, "ambiguous", signal);
    if (frame.onWrite === "throw" && analysis.kind === "write") throw writeRefused(analysis.reasons);
    // Before it runs: a read that starts meanwhile must not be older than what this call may return.
    this.#mark(frame);
    return await this.#executor.write(attempt, analysis.kind, signal).finally(() => this.#wrote(frame));
  }

  #mark(frame: Frame): void {
    frame.session.performedWrite = true;
    if (!frame.ignoreWrites) frame.session.stuck = true;
  }

  async #wrote(frame: Frame): Promise<void> {
    this.#mark(frame);
    if (!frame.ignoreWrites && frame.session.keys.length > 0) await this.#sticking.stick(frame.session.keys);
  }

  async #startTransaction<T>(
    frame: Frame,
    options: ReadOnlyKnown,
    first: Analysis,
    text: string,
    begin: (host: Host, plan: TransactionPlan) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const { isolationLevel } = options;
    const route = Frames.readRoute(frame);
    const tentative = Frames.ambiguousToReplica(frame) && (first.kind === "read" || first.kind === "ambiguous");
    const standbyCan = isolationLevel !== "serializable" && first.statementCount <= 1;
    const onReplica = (host: Host) => begin(host, { readOnly: options.readOnly || host.role === "replica", isolationLevel });
    if (route.replica && standbyCan && (options.readOnly || tentative)) {
      const onMisroute = () => {
        if (options.readOnly) throw writeRefused(first.reasons);
        this.#classifier.learnWrite(text);
      };
      return await this.#executor.read(frame.session, onReplica, onMisroute, signal);
    }
    const onPrimary = (host: Host) => begin(host, { readOnly: options.readOnly, isolationLevel });
    return options.readOnly
      ? await this.#executor.readPrimary(onPrimary, route.reason === "sticky" ? "sticky" : "block", signal)
      : await this.#executor.write(onPrimary, "transaction", signal);
  }
}

type ReadOnlyKnown = TransactionOptions & { readonly readOnly: boolean };

/** The surrounding transaction; code that outlives its function runs outside of it. */
function openTransaction(frame: Frame): OpenTransaction | undefined {
  return frame.transaction?.open ? frame.transaction : undefined;
}

function handle(transaction: OpenTransaction, signal: AbortSignal): TransactionHandle {
  return {
    query: async (text, values, options = {}) => {
      using linked = linkSignals(options.signal ?? neverAborted, signal);
      return await transaction.query(text, values, linked.signal);
    },
  };
}

function readsOnly(analysis: Analysis, { hint }: QueryOptions): boolean {
  if (hint === "read" && analysis.kind === "write") {
    throw new CodedError("invalid_argument", 'a statement that writes has the hint "read"', { reasons: analysis.reasons });
  }
  return analysis.kind === "read" || (hint === "read" && analysis.kind === "ambiguous");
}

function closedError(): CodedError {
  return new CodedError("failed_precondition", "the load balancer is closed");
}

/** Makes a load balancer, whose servers have been asked who they are where they answer. One that is down shows in the calls that need it. Errors: `bad_config`. */
export async function createLoadBalancer(
  options: Partial<LoadBalancerOptions> & Pick<LoadBalancerOptions, "primary">,
  deps: Partial<LoadBalancerDeps> = {},
): Promise<LoadBalancer> {
  const balancer = new LoadBalancer(
    { ...defaultLoadBalancerOptions, ...options },
    { clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics, ...deps },
  );
  await balancer.ready;
  return balancer;
}
