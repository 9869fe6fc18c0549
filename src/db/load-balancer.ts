import { type Clock, CodedError, linkSignals, type Random, sharedAbortController } from "../base/index.ts";
import { Classifier } from "./classify.ts";
import { type DbMetrics, defineDbMetrics } from "./db-metrics.ts";
import type { DiscoveryLoop } from "./discovery/discovery-loop.ts";
import { Executor } from "./executor.ts";
import { isSerializationFailure } from "./hosts/error-class.ts";
import type { Host } from "./hosts/host.ts";
import type { HostList } from "./hosts/host-list.ts";
import type { HostMonitor } from "./hosts/host-monitor.ts";
import { type HostStatus, hostStatuses } from "./hosts/host-status.ts";
import type { QueryResult } from "./hosts/query.ts";
import { captured, checkJob, type JobCheck, type JobOptions, type JobPositions, jobBinding } from "./jobs/job-positions.ts";
import type {
  LoadBalancerDeps,
  LoadBalancerOptions,
  QueryOptions,
  SessionOptions,
  TransactionHandle,
  TransactionOptions,
} from "./options.ts";
import { type OptionsAndWork, optionsAndWork } from "./options-and-work.ts";
import { PrimaryGate } from "./overload/primary-gate.ts";
import { RetryBudget } from "./overload/retry-budget.ts";
import { PinnedConnection } from "./pinned-connection.ts";
import type { Position } from "./position/position.ts";
import { type ReadOnlyKnown, Router } from "./router.ts";
import { type Frame, Frames, type OpenTransaction, outermostFrame, Session } from "./session.ts";
import { MemoryStickingStore } from "./sticking/memory-sticking-store.ts";
import type { PositionTokens } from "./sticking/position-tokens.ts";
import { Sticking } from "./sticking/sticking.ts";
import { type StickKey, stickingKeys } from "./sticking/sticking-key.ts";
import { TokenStickingStore } from "./sticking/token-sticking-store.ts";
import type { Switches } from "./switches.ts";
import { Transaction } from "./transaction.ts";

const targets = { primary: { target: "primary" }, replica: { target: "replica" }, transaction: { target: "transaction" } };
const maxTransactionTries = 3;
const transactionBackoffMs = 100;

/** What a load balancer is made of. */
interface LoadBalancerParts {
  readonly monitor: HostMonitor;
  readonly discovery: DiscoveryLoop | undefined;
  readonly switches: Switches;
  /** Undefined without `sticking.secret`. */
  readonly tokens: PositionTokens | undefined;
}

/** Sends reads to replicas, everything else to the primary, and keeps a session's reads behind its own writes. */
export class LoadBalancer implements AsyncDisposable {
  /** Tells it apart from others in sticking keys, tokens and jobs. */
  readonly name: string;
  /** What can be turned on and off while it runs. */
  readonly switches: Switches;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #hosts: HostList;
  readonly #monitor: HostMonitor;
  readonly #discovery: DiscoveryLoop | undefined;
  readonly #classifier: Classifier;
  readonly #sticking: Sticking;
  readonly #tokens: PositionTokens | undefined;
  readonly #router: Router;
  readonly #metrics: DbMetrics;
  readonly #frames = new Frames();
  readonly #destroyed = sharedAbortController();
  #running = 0;
  #onIdle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: LoadBalancerOptions, deps: LoadBalancerDeps & LoadBalancerParts) {
    const { clock, monitor } = deps;
    const { hosts } = monitor;
    const { expirationMs, store } = options.sticking;
    this.name = options.name;
    this.switches = deps.switches;
    this.#clock = clock;
    this.#random = deps.random;
    this.#hosts = hosts;
    this.#monitor = monitor;
    this.#discovery = deps.discovery;
    this.#metrics = defineDbMetrics(deps.metrics, hosts);
    this.#classifier = new Classifier(options);
    this.#sticking = new Sticking(options.name, options.sticking, {
      ...deps,
      hosts,
      discovers: deps.discovery !== undefined,
      store: store ?? new MemoryStickingStore({ expirationMs }, { clock }),
    });
    this.#tokens = deps.tokens;
    const executor = new Executor(options, {
      ...deps,
      hosts,
      metrics: this.#metrics,
      sticking: this.#sticking,
      gate: primaryGate(options, this.#metrics, deps),
      retries: new RetryBudget(options.overload, { clock }),
    });
    this.#router = new Router({ classifier: this.#classifier, executor, sticking: this.#sticking, switches: deps.switches });
  }

  /** How old the list is that discovery gave; undefined without discovery. */
  get discoveryAgeMs(): number | undefined {
    return this.#discovery?.ageMs;
  }

  /** Whether discovery fails, and its list is older than `discovery.maxAgeMs`. */
  get discoveryStale(): boolean {
    return this.#discovery?.stale === true;
  }

  /** Whether discovery asks a source whose word on who is primary is needed. */
  get discoveryBinds(): boolean {
    return this.#discovery?.authoritative === true;
  }

  /** The servers as they are judged now. */
  get status(): readonly HostStatus[] {
    return hostStatuses(this.#monitor.servers, this.#hosts.snapshot, this.#clock.monotonic());
  }

  /**
   * Runs one statement where it belongs; inside a transaction's function, in that transaction. The server's own errors
   * (syntax, constraints) pass through unchanged. Errors: `database_unavailable`, `outcome_unknown`.
   */
  async query<R = Record<string, unknown>>(text: string, values?: readonly unknown[], options: QueryOptions = {}): Promise<QueryResult<R>> {
    const frame = this.#frames.current;
    const transaction = openTransaction(frame);
    if (frame.onWrite === "throw" && (transaction || this.#classifier.analyse(text).kind === "ambiguous")) {
      // Only the server can tell what such a statement writes.
      return await this.transaction({ ...options, readOnly: true }, (tx) => tx.query<R>(text, values));
    }
    const linked = options.signal ? linkSignals(options.signal, (transaction ?? this.#destroyed).signal) : undefined;
    const { signal } = linked ?? transaction ?? this.#destroyed;
    const startedMs = this.#clock.monotonic();
    let target: keyof typeof targets = transaction ? "transaction" : "primary";
    const onHost = ({ role }: Host) => {
      target = role;
    };
    if (!transaction) this.#begin();
    try {
      const result = transaction
        ? await transaction.query<R>(text, values, signal)
        : await this.#router.statement<R>(frame, text, values, options, onHost, signal);
      this.#metrics.seconds.observe((this.#clock.monotonic() - startedMs) / 1000, targets[target]);
      return result;
    } finally {
      linked?.[Symbol.dispose]();
      if (!transaction) this.#finish();
    }
  }

  /** Runs `fn` as one transaction, or under a savepoint where one is open. The connection is taken with the first statement. */
  transaction<T>(fn: (tx: TransactionHandle) => Promise<T>): Promise<T>;
  transaction<T>(options: TransactionOptions, fn: (tx: TransactionHandle) => Promise<T>): Promise<T>;
  async transaction<T>(...args: OptionsAndWork<TransactionOptions, (tx: TransactionHandle) => Promise<T>>): Promise<T> {
    const [given, fn] = optionsAndWork(args);
    const frame = this.#frames.current;
    const outer = openTransaction(frame);
    using linked = below(given.signal, (outer ?? this.#destroyed).signal);
    const { signal } = linked;
    const options = { ...given, readOnly: given.readOnly === true || frame.onWrite === "throw" };
    if (outer) return await outer.nested(() => this.#within(enforced(options), () => fn(handle(outer, signal))), options, signal);
    return await this.#track(async () => {
      for (let tries = 1; ; tries++) {
        try {
          return await this.#transact(frame, options, fn, signal);
        } catch (error) {
          if (!options.retryTransaction || tries >= maxTransactionTries || !isSerializationFailure(error)) throw error;
        }
        // Two that got in each other's way must not do it again in step.
        await this.#clock.sleep(this.#random.float() * transactionBackoffMs * tries, signal);
      }
    });
  }

  /**
   * Runs `fn` with a connection to the primary of its own, or that of the transaction around it: for settings, temporary tables,
   * cursors and locks that outlive a statement. The load balancer's statements in it use that connection, too; at the end it is
   * given back, or closed where something was left on it.
   */
  async connection<T>(fn: (connection: TransactionHandle) => Promise<T>): Promise<T> {
    const frame = this.#frames.current;
    const outer = openTransaction(frame);
    const { signal } = outer ?? this.#destroyed;
    if (outer) return await fn(handle(outer, signal));
    return await this.#track(async () => {
      const { host, lease } = await this.#router.connection(signal);
      const onWrite = (outcome: { acknowledged: boolean }) => this.#router.wrote(frame, outcome);
      const pinned = new PinnedConnection({ host, lease, onWrite, signal, analyse: (text) => this.#classifier.analyse(text) });
      try {
        return await this.#frames.run({ ...frame, transaction: pinned }, () => fn(handle(pinned, signal)));
      } finally {
        pinned.release();
      }
    });
  }

  /**
   * Runs `fn` as one unit of work: after a write in it, its later reads go to the primary. A session inside another is its own.
   * What it wrote is noted for its keys when `fn` ends.
   */
  session<T>(fn: () => Promise<T>): Promise<T>;
  session<T>(options: SessionOptions, fn: () => Promise<T>): Promise<T>;
  async session<T>(...args: OptionsAndWork<SessionOptions, () => Promise<T>>): Promise<T> {
    const [options, fn] = optionsAndWork(args);
    const job = options.job && jobBinding(options.job, this.name);
    const binding = { keys: stickingKeys(options.stick ?? []), token: this.openToken(options.token), required: job?.required ?? [] };
    const session = new Session(binding, job?.primary);
    try {
      return await this.#frames.run(outermostFrame(session), fn);
    } finally {
      session.ended = true;
      await this.#sticking.publish(session);
    }
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

  /** Sticks later sessions of all these keys to what the primary has now, with one question to it. */
  async stick(keys: readonly StickKey[]): Promise<void> {
    const names = stickingKeys(keys);
    await this.#track(() => this.#sticking.stick(names));
  }

  /**
   * Notes in a token what the primary has now, for a caller whose writes were done elsewhere. `known: false`: they may still be on
   * their way, so its reads go to the primary until the token expires. Never rejects.
   */
  async stickToken(token: TokenStickingStore, { known = true } = {}): Promise<void> {
    await this.#track(() => this.#sticking.stickToken(token, known)).catch(() => {});
  }

  /**
   * Inside a session: a signed note of what its caller must see, for `session({ token })` anywhere; undefined where there is
   * nothing to see. Errors: `failed_precondition` outside of a session, or without `sticking.secret`.
   */
  async positionToken(): Promise<string | undefined> {
    const { session } = this.#frames.current;
    const { token } = session.binding;
    if (!token) throw new CodedError("failed_precondition", "a position token needs a session, and sticking.secret to sign it");
    await this.#sticking.publish(session);
    return token.token;
  }

  /** For a caller with several units of work, also in several load balancers: what its tokens say; undefined without `sticking.secret`. */
  openToken(given: SessionOptions["token"]): TokenStickingStore | undefined {
    if (given instanceof TokenStickingStore) return given;
    if (!this.#tokens) return undefined;
    const opened = new TokenStickingStore(given === undefined ? [] : typeof given === "string" ? [given] : given, { tokens: this.#tokens });
    for (const verdict of opened.verdicts) this.#metrics.tokens.add(1, { verdict });
    if (opened.surplus > 0) this.#metrics.tokens.add(opened.surplus, { verdict: "surplus" });
    return opened;
  }

  /** What a job that is put into a queue now must see when it runs: `{}` where there are no replicas. */
  async capture(): Promise<JobPositions> {
    const { snapshot } = this.#hosts;
    if (snapshot.replicas.length === 0) return {};
    const { session, reads } = this.#frames.current;
    const seen = session.performedWrite || session.stuck || reads === "primary" ? undefined : await this.#sticking.seenBy(session);
    return { [this.name]: seen ? captured(seen, "replica") : captured(await this.#sticking.written(), "primary") };
  }

  /** Where a job's reads may go, after a short wait for replicas; hand it to `session({ job })`. `positions` is what `capture` gave. */
  async checkJob(positions: unknown, options: JobOptions = {}): Promise<JobCheck> {
    using linked = below(options.signal, this.#destroyed.signal);
    return await checkJob(positions, options, [this], { clock: this.#clock, signal: linked.signal });
  }

  /** Whether reads need not go to the primary to see `position`. */
  async hasReached(position: Position): Promise<boolean> {
    return this.#hosts.snapshot.replicas.length === 0 || (await this.#sticking.isReachedSomewhere([position]));
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
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await this.#discovery?.[Symbol.asyncDispose]();
    await this.#monitor[Symbol.asyncDispose]();
  }

  /** Work that `close` waits for. */
  async #track<T>(work: () => Promise<T>): Promise<T> {
    this.#begin();
    try {
      return await work();
    } finally {
      this.#finish();
    }
  }

  /** Counts work that begins; none does after `close`. */
  #begin(): void {
    if (this.#closing) throw closedError();
    this.#running++;
  }

  #finish(): void {
    this.#running--;
    if (this.#running === 0) this.#onIdle?.();
  }

  async #transact<T>(frame: Frame, options: ReadOnlyKnown, fn: (tx: TransactionHandle) => Promise<T>, signal: AbortSignal): Promise<T> {
    const transaction = new Transaction({
      signal,
      analyse: (text) => this.#classifier.analyse(text),
      start: (first, text, begin, signal) => this.#router.transaction(frame, options, first, text, begin, signal),
    });
    const work = () => this.#frames.run({ ...frame, ...enforced(options), transaction }, () => fn(handle(transaction, signal)));
    return await transaction.perform(work, (outcome) => this.#router.wrote(frame, outcome));
  }

  #within<T>(change: Partial<Frame>, fn: () => Promise<T>): Promise<T> {
    return this.#frames.run({ ...this.#frames.current, ...change }, fn);
  }
}

/** None where reads belong to the primary, since no other server is for them. */
function primaryGate(
  options: LoadBalancerOptions,
  { shed }: DbMetrics,
  deps: LoadBalancerDeps & LoadBalancerParts,
): PrimaryGate | undefined {
  const { servers, hosts } = deps.monitor;
  if (!deps.discovery && servers.filter(({ listed }) => listed.reads !== "never").length < 2) return undefined;
  const { poolSize, connectTimeoutMs, overload } = options;
  const strained = () => (hosts.snapshot.primary?.host.outstanding ?? 0) > poolSize;
  return new PrimaryGate({ ...overload, poolSize, connectTimeoutMs }, { ...deps, shed, strained });
}

/** The surrounding transaction; code that outlives its function runs outside of it. */
function openTransaction(frame: Frame): OpenTransaction | undefined {
  return frame.transaction?.open ? frame.transaction : undefined;
}

/** In a transaction that only reads, it is the server that refuses writes. */
function enforced({ readOnly }: ReadOnlyKnown): Partial<Frame> {
  return readOnly ? { onWrite: "primary" } : {};
}

function handle(transaction: OpenTransaction, signal: AbortSignal): TransactionHandle {
  return {
    query: async (text, values, options = {}) => {
      using linked = below(options.signal, signal);
      return await transaction.query(text, values, linked.signal);
    },
  };
}

/** Aborts with either; the common case, where a caller gives none, costs nothing. */
function below(given: AbortSignal | undefined, outer: AbortSignal): ReturnType<typeof linkSignals> {
  return given ? linkSignals(given, outer) : { signal: outer, [Symbol.dispose]: () => {} };
}

function closedError(): CodedError {
  return new CodedError("failed_precondition", "the load balancer is closed");
}
