import { CodedError } from "../base/index.ts";
import { type Analysis, refuseUseless } from "./analyse.ts";
import type { Classifier } from "./classify.ts";
import type { Executor, ReadPlan, WritePlan } from "./executor.ts";
import type { Host, Lease } from "./hosts/host.ts";
import type { ConnectionUse, QueryResult, Values } from "./hosts/query.ts";
import type { QueryOptions, TransactionOptions } from "./options.ts";
import { heldHost } from "./overload/held-host.ts";
import type { Permit } from "./overload/permit.ts";
import { type Frame, Frames, type Session } from "./session.ts";
import type { Sticking } from "./sticking/sticking.ts";
import type { SwitchValues } from "./switches.ts";
import { Transaction, type TransactionDeps, type TransactionHost, type TransactionPlan, writeRefused } from "./transaction.ts";

/** What the router works with. */
export interface RouterDeps {
  readonly classifier: Classifier;
  readonly executor: Executor;
  readonly sticking: Sticking;
  readonly switches: SwitchValues;
}

/** A transaction's options once it is known whether it only reads. */
export type ReadOnlyKnown = TransactionOptions & { readonly readOnly: boolean };

const transactionPlan: WritePlan = { kind: "transaction", idempotent: false, refusedWhole: true, undoneWhenLost: true, reading: false };
const connectionPlan: WritePlan = { ...transactionPlan, kind: "connection", idempotent: true };
const preparing = { discard: false, prepare: true };
const keeping = { discard: false, prepare: false };
const discarding = { discard: true, prepare: false };

/** Decides where a statement or a transaction runs, and keeps the session's record of what it did. */
export class Router {
  readonly #deps: RouterDeps;

  constructor(deps: RouterDeps) {
    this.#deps = deps;
  }

  /** Runs one statement outside of a transaction. `onHost` is told of each server that is tried. May throw at once. */
  statement<R>(
    frame: Frame,
    text: string,
    values: Values,
    options: QueryOptions,
    onHost: (host: Host) => void,
    signal: AbortSignal,
  ): Promise<QueryResult<R>> {
    const analysis = this.#deps.classifier.analyse(text);
    if (analysis.kind === "transaction") {
      throw new CodedError("invalid_argument", "transaction control belongs to transaction()", { reasons: analysis.reasons });
    }
    refuseUseless(analysis);
    if (analysis.bound) {
      throw new CodedError(
        "failed_precondition",
        "a statement about the state of one connection belongs to connection() or transaction()",
        {
          reasons: analysis.reasons,
        },
      );
    }
    const attempt = (host: Host) => {
      onHost(host);
      // A replica refuses what the text does not show; the primary must be told to.
      if (frame.onWrite === "throw" && host.role === "primary") return this.#guarded<R>(host, text, values, signal);
      return host.query<R>(text, values, connectionUse(analysis), signal);
    };
    const reads = readsOnly(analysis, options);
    const run = () =>
      reads || (analysis.kind === "ambiguous" && this.#triesReplica(frame))
        ? this.#read(frame, analysis, text, { repeatable: reads, maxStalenessMs: options.maxStalenessMs }, attempt, signal)
        : this.#write(frame, analysis, options, attempt, signal);
    const prepared = reads || analysis.kind === "ambiguous" ? this.#prepare(frame) : undefined;
    return prepared ? prepared.then(run) : run();
  }

  /** Runs a statement in a transaction of its own that only reads. */
  #guarded<R>(host: Host, text: string, values: Values, signal: AbortSignal): Promise<QueryResult<R>> {
    const analyse = (text: string) => this.#deps.classifier.analyse(text);
    const start: TransactionDeps["start"] = (_first, _text, begin) => begin(host, { readOnly: true, isolationLevel: undefined });
    const transaction = new Transaction({ analyse, start, signal });
    return transaction.perform(
      () => transaction.query<R>(text, values, signal),
      async () => {},
    );
  }

  /** Runs `begin` on a server that suits a transaction whose first statement is `first`. */
  async transaction<T>(
    frame: Frame,
    options: ReadOnlyKnown,
    first: Analysis,
    text: string,
    begin: (host: TransactionHost, plan: TransactionPlan) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const { executor, classifier } = this.#deps;
    const { isolationLevel, readOnly, maxStalenessMs } = options;
    const { session } = frame;
    if (readOnly || frame.ambiguousToReplicas) await this.#prepare(frame);
    const route = this.#route(frame);
    const tentative = this.#triesReplica(frame) && (first.kind === "read" || first.kind === "ambiguous");
    const standbyCan = isolationLevel !== "serializable" && first.statementCount <= 1;
    // A transaction that loses its connection is undone, so that its start may be repeated.
    const repeatable = true;
    if (route.replica && standbyCan && (readOnly || tentative)) {
      const onMisroute = () => {
        if (readOnly) throw writeRefused(first.reasons);
        classifier.learnWrite(text);
      };
      const onReplica = (host: Host, permit: Permit) =>
        begin(heldHost(host, permit), { readOnly: readOnly || host.role === "replica", isolationLevel });
      const plan = { session, followsWrites: Frames.followsWrites(frame), repeatable, maxStalenessMs, onMisroute };
      return await executor.read(plan, onReplica, signal);
    }
    const onPrimary = (host: Host, permit: Permit) => begin(heldHost(host, permit), { readOnly, isolationLevel });
    if (readOnly) {
      return await executor.readPrimary({ session, repeatable }, onPrimary, route.reason === "sticky" ? "sticky" : "block", signal);
    }
    return await executor.write(transactionPlan, onPrimary, signal);
  }

  /** A connection to the primary, for a piece of work that needs one for itself. */
  async connection(signal: AbortSignal): Promise<{ readonly host: Host; readonly lease: Lease }> {
    return await this.#deps.executor.write(connectionPlan, async (host) => ({ host, lease: await host.acquire(signal) }), signal);
  }

  /**
   * Notes that something may have been written; what the session's keys must see is published when it ends. Where it has ended, the
   * promise is that of the publication.
   */
  wrote(frame: Frame, { acknowledged }: { readonly acknowledged: boolean }): Promise<void> | undefined {
    const { session } = frame;
    mark(frame);
    if (frame.ignoreWrites) return undefined;
    session.unpublished = true;
    if (acknowledged) session.acknowledged = true;
    return session.ended ? this.#deps.sticking.publish(session) : undefined;
  }

  #read<T>(
    frame: Frame,
    analysis: Analysis,
    text: string,
    { repeatable, maxStalenessMs }: Pick<ReadPlan, "repeatable" | "maxStalenessMs">,
    attempt: (host: Host) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const { executor, classifier } = this.#deps;
    const route = this.#route(frame);
    // A replica takes one statement at a time, and the server does not parse several with parameters.
    if (!route.replica || analysis.statementCount > 1) {
      const reason = route.replica ? "ambiguous" : route.reason === "sticky" ? "sticky" : "block";
      return executor.readPrimary({ session: frame.session, repeatable }, attempt, reason, signal);
    }
    return executor.read(new RoutedRead(this, classifier, frame, analysis, text, { repeatable, maxStalenessMs }), attempt, signal);
  }

  #write<T>(frame: Frame, analysis: Analysis, options: QueryOptions, attempt: (host: Host) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { executor } = this.#deps;
    if (analysis.kind === "empty") {
      return executor.readPrimary({ session: frame.session, repeatable: true }, attempt, "ambiguous", signal);
    }
    if (frame.onWrite === "throw" && analysis.kind === "write") throw writeRefused(analysis.reasons);
    // Before it runs: a read that starts meanwhile must not be older than what this call may return.
    mark(frame);
    const idempotent = options.idempotent === true;
    // A procedure may have committed a part before the server refused the rest.
    const refusedWhole = idempotent || analysis.kind !== "ambiguous";
    const plan = { kind: analysis.kind, idempotent, refusedWhole, undoneWhenLost: false, reading: false };
    return executor.write(plan, attempt, signal).then(
      (value) => {
        const noted = this.wrote(frame, { acknowledged: true });
        return noted ? noted.then(() => value) : value;
      },
      async (error: unknown) => {
        // Nothing was done, so that later sessions have nothing to see.
        if (idempotent || !CodedError.is(error, "database_unavailable")) await this.wrote(frame, { acknowledged: false });
        throw error;
      },
    );
  }

  #prepare(frame: Frame): Promise<void> | undefined {
    if (!Frames.followsWrites(frame) || !this.#deps.switches.replicaReads) return undefined;
    return this.#deps.sticking.prepare(frame.session);
  }

  #route(frame: Frame): ReturnType<typeof Frames.readRoute> {
    return this.#deps.switches.replicaReads ? Frames.readRoute(frame) : { replica: false, reason: "block" };
  }

  #triesReplica(frame: Frame): boolean {
    return this.#deps.switches.replicaReads && Frames.ambiguousToReplica(frame);
  }
}

/** A read on its way to a replica, which may refuse it as a write. One small object for each: two closures and what they hold are three times as much. */
class RoutedRead implements ReadPlan {
  readonly repeatable: boolean;
  readonly maxStalenessMs: number | undefined;
  readonly #router: Router;
  readonly #classifier: Classifier;
  readonly #frame: Frame;
  readonly #analysis: Analysis;
  readonly #text: string;

  constructor(
    router: Router,
    classifier: Classifier,
    frame: Frame,
    analysis: Analysis,
    text: string,
    { repeatable, maxStalenessMs }: Pick<ReadPlan, "repeatable" | "maxStalenessMs">,
  ) {
    this.#router = router;
    this.#classifier = classifier;
    this.#frame = frame;
    this.#analysis = analysis;
    this.#text = text;
    this.repeatable = repeatable;
    this.maxStalenessMs = maxStalenessMs;
  }

  get session(): Session {
    return this.#frame.session;
  }

  get followsWrites(): boolean {
    return Frames.followsWrites(this.#frame);
  }

  onMisroute(): void {
    this.#classifier.learnWrite(this.#text);
    if (this.#frame.onWrite === "throw") throw writeRefused(this.#analysis.reasons);
    mark(this.#frame);
  }

  /** What a replica refused as a write was one. */
  async refused<T>(onPrimary: () => Promise<T>): Promise<T> {
    try {
      const value = await onPrimary();
      await this.#router.wrote(this.#frame, { acknowledged: true });
      return value;
    } catch (error) {
      if (!CodedError.is(error, "database_unavailable")) await this.#router.wrote(this.#frame, { acknowledged: false });
      throw error;
    }
  }
}

function mark(frame: Frame): void {
  frame.session.performedWrite = true;
  if (!frame.ignoreWrites) frame.session.stuck = true;
}

/** A procedure may commit a part of its work, after which it must not be begun again without its name. */
function connectionUse({ kind, leavesState }: Analysis): ConnectionUse {
  if (leavesState) return discarding;
  return kind === "read" || kind === "write" ? preparing : keeping;
}

function readsOnly(analysis: Analysis, { hint }: QueryOptions): boolean {
  if (hint === "read" && analysis.kind === "write") {
    throw new CodedError("invalid_argument", 'a statement that writes has the hint "read"', { reasons: analysis.reasons });
  }
  return analysis.kind === "read" || (hint === "read" && analysis.kind === "ambiguous");
}
