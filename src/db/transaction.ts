import { CodedError, errnoOf, Mutex, neverAborted } from "../base/index.ts";
import { type Analysis, refuseUseless } from "./analyse.ts";
import { errorClass, isClientTimeout, NotConnectedError } from "./hosts/error-class.ts";
import type { Host, Lease } from "./hosts/host.ts";
import type { QueryResult, Values } from "./hosts/query.ts";
import type { IsolationLevel, OpenTransaction } from "./session.ts";

/** Where and how a transaction begins; decided when its first statement comes. */
export interface TransactionPlan {
  /** Nothing may write in it, wherever it runs. */
  readonly readOnly: boolean;
  readonly isolationLevel: IsolationLevel | undefined;
}

/** Runs `begin` on a server that suits a transaction whose first statement is `first`. */
type Starter = <T>(
  first: Analysis,
  text: string,
  begin: (host: TransactionHost, plan: TransactionPlan) => Promise<T>,
  signal: AbortSignal,
) => Promise<T>;

/** What a transaction needs of a server. */
export type TransactionHost = Pick<Host, "acquire" | "name" | "role">;

/** Told at the end of a transaction that has written, or may have: `acknowledged` where it is known to be committed. */
type OnWritten = (outcome: { readonly acknowledged: boolean }) => Promise<void> | undefined;

/** What a transaction works with. */
export interface TransactionDeps {
  readonly analyse: (text: string) => Analysis;
  readonly start: Starter;
  /** Gives all of it up: nothing is committed from then on. */
  readonly signal: AbortSignal;
}

/** One transaction. The connection is taken, and BEGIN sent, with the first statement; without one, no server is asked. */
export class Transaction implements OpenTransaction {
  readonly #deps: TransactionDeps;
  readonly #turn = new Mutex();
  #lease: Lease | undefined;
  #host: TransactionHost | undefined;
  #readOnly = false;
  #readOnlyDepth = 0;
  #open = true;
  /** Why nothing more may run on the connection: it is busy with what nobody waits for, or in no transaction any more. */
  #doomed: CodedError | undefined;
  #abandoned = false;
  /** What was done so far may have been committed by a statement. */
  #strayed = false;
  readonly #savepoints: { readonly name: string; readonly readOnly: boolean; set: boolean }[] = [];
  #savepointCount = 0;

  constructor(deps: TransactionDeps) {
    this.#deps = deps;
  }

  get open(): boolean {
    return this.#open;
  }

  get signal(): AbortSignal {
    return this.#deps.signal;
  }

  /** Whether its connection was left as it was, inside the transaction, and perhaps busy: nothing else may run on it. */
  get abandoned(): boolean {
    return this.#abandoned;
  }

  /**
   * Runs `fn` as this transaction: commits what it did, undoes it where it throws, and gives the connection back. Errors: those of
   * `fn`; `outcome_unknown`; `database_unavailable` where the connection was lost before COMMIT; `failed_precondition` where a failed
   * statement had already doomed it.
   */
  async perform<T>(fn: () => Promise<T>, onWritten: OnWritten): Promise<T> {
    let unknown = false;
    try {
      const value = await fn();
      await this.#commit().catch((error: unknown) => {
        unknown = CodedError.is(error, "outcome_unknown");
        throw error;
      });
      if (this.#mayHaveWritten) await onWritten({ acknowledged: true });
      return value;
    } catch (error) {
      if ((unknown || this.#strayed) && this.#mayHaveWritten) await onWritten({ acknowledged: false });
      await this.#rollback();
      throw error;
    } finally {
      this.#lease?.[Symbol.dispose]();
      this.#lease = undefined;
    }
  }

  /** Runs a statement in the transaction, after those that came before. */
  async query<R>(text: string, values: Values, signal: AbortSignal): Promise<QueryResult<R>> {
    if (!this.#open) throw new CodedError("failed_precondition", "the transaction has ended");
    return await this.#turn.run(() => this.#run<R>(text, values, signal), signal);
  }

  /** Runs `fn` under a savepoint: what it did is undone when it throws. */
  async nested<T>(fn: () => Promise<T>, { readOnly }: { readOnly: boolean }, signal: AbortSignal): Promise<T> {
    const depth = readOnly ? 1 : 0;
    this.#readOnlyDepth += depth;
    const savepoint = { name: `dblb_${++this.#savepointCount}`, readOnly, set: false };
    this.#savepoints.push(savepoint);
    const untouched = !this.#lease && !this.#doomed;
    const end = async (commands: readonly string[], signal: AbortSignal) => {
      const lease = this.#lease;
      if (!lease || !savepoint.set) return;
      await this.#turn.run(async () => {
        if (this.#doomed) throw this.#doomed;
        for (const command of commands) await this.#send(lease, command, undefined, signal);
      }, signal);
    };
    try {
      const value = await fn().finally(() => {
        this.#readOnlyDepth -= depth;
        this.#savepoints.splice(this.#savepoints.indexOf(savepoint), 1);
      });
      await end([`RELEASE SAVEPOINT ${savepoint.name}`], signal);
      return value;
    } catch (error) {
      // What is around it may go on and commit, also where this part was aborted.
      await end([`ROLLBACK TO SAVEPOINT ${savepoint.name}`, `RELEASE SAVEPOINT ${savepoint.name}`], this.signal).catch(() => {});
      // Where the transaction was to begin in here, and did not, there is nothing that could be half done.
      if (untouched && !this.#lease) this.#doomed = undefined;
      throw error;
    }
  }

  get #mayHaveWritten(): boolean {
    return this.#lease !== undefined && !this.#readOnly;
  }

  /** Errors: `outcome_unknown` where it may be committed; after any other, it is not. */
  async #commit(): Promise<void> {
    const { signal } = this.#deps;
    this.#open = false;
    await this.#turn.run(async () => {
      const lease = this.#lease;
      if (!lease && !this.#doomed) return;
      signal.throwIfAborted();
      if (this.#doomed || !lease) throw this.#doomed;
      let command: string;
      try {
        command = (await this.#send(lease, "COMMIT", undefined, signal)).command;
      } catch (error) {
        // What was read stays true, however the end was lost.
        if (this.#readOnly) return;
        // What the server says of itself, and what was never sent, leaves no doubt: nothing is committed.
        const kind = errorClass(error);
        if (kind !== "lost" && !isClientTimeout(error) && !signal.aborted) throw this.#translate(error);
        throw new CodedError("outcome_unknown", "the connection was lost during COMMIT", { host: this.#host?.name }, { cause: error });
      }
      if (command === "ROLLBACK")
        throw new CodedError("failed_precondition", "a statement failed in the transaction, so it was rolled back");
    }, neverAborted);
  }

  /** Undoes everything; never fails, and never waits for a statement that was given up: the connection is closed instead. */
  async #rollback(): Promise<void> {
    this.#open = false;
    await this.#turn.run(async () => {
      if (this.#doomed) this.#lease?.discard();
      else await this.#lease?.query("ROLLBACK", undefined, neverAborted).catch(() => this.#abandon());
    }, neverAborted);
  }

  async #run<R>(text: string, values: Values, signal: AbortSignal): Promise<QueryResult<R>> {
    const analysis = this.#deps.analyse(text);
    if (analysis.controlsTransaction) {
      throw new CodedError("invalid_argument", "BEGIN, COMMIT, ROLLBACK and SET TRANSACTION belong to transaction()", {
        reasons: analysis.reasons,
      });
    }
    refuseUseless(analysis);
    if (this.#doomed) throw this.#doomed;
    const begun = this.#lease;
    if (!begun) return await this.#first<R>(analysis, text, values, signal);
    return await this.#statement<R>(begun, analysis, text, values, signal);
  }

  async #first<R>(analysis: Analysis, text: string, values: Values, signal: AbortSignal): Promise<QueryResult<R>> {
    let failure: { error: unknown } | undefined;
    const begin = async (host: TransactionHost, plan: TransactionPlan) => {
      if (plan.readOnly) refuseWrites(analysis);
      const lease = await host.acquire(signal);
      try {
        this.#doomed = undefined;
        for (const savepoint of this.#savepoints) savepoint.set = false;
        await this.#begin(lease, host, plan, signal);
        const result = await this.#statement<R>(lease, analysis, text, values, signal);
        this.#keep(lease, host);
        return result;
      } catch (error) {
        const kind = errorClass(error);
        // A primary that was told to refuse writes is the primary nevertheless.
        const refused = errnoOf(error) === "25006" && this.#readsOnly && host.role === "primary";
        // Another transaction's fault; a replica's conflict is one with its recovery, and no other replica need have it.
        const conflicted = kind === "conflict" && host.role === "primary";
        if (!refused && !conflicted && kind !== "statement" && kind !== "slow") {
          lease.discard();
          lease[Symbol.dispose]();
          throw error;
        }
        // The statement's own fault: the transaction has begun and failed, as it would have in any later statement.
        this.#keep(lease, host);
        failure = { error: this.#translate(error) };
        return undefined;
      }
    };
    const result = await this.#deps.start(analysis, text, begin, signal).catch((error: unknown) => {
      // Its user may go on as if nothing had failed, and what comes next would be done without this.
      if (!this.#lease && !CodedError.is(error, "write_inside_read_only_transaction")) this.#doomed = neverBegun();
      throw error;
    });
    if (failure) throw failure.error;
    return result as QueryResult<R>;
  }

  /** Whether nothing may be written now. */
  get #readsOnly(): boolean {
    return this.#readOnly || this.#readOnlyDepth > 0;
  }

  async #begin(lease: Lease, host: TransactionHost, plan: TransactionPlan, signal: AbortSignal): Promise<void> {
    this.#readOnly = plan.readOnly;
    try {
      await this.#send(lease, beginText(plan), undefined, signal);
    } catch (error) {
      // Whatever became of the BEGIN, nothing has happened yet.
      throw errorClass(error) === "lost" && !signal.aborted ? new NotConnectedError(host.name, "connect_failed", error) : error;
    }
  }

  #abandon(): void {
    this.#abandoned = true;
    this.#lease?.discard();
  }

  #keep(lease: Lease, host: TransactionHost): void {
    this.#lease = lease;
    this.#host = host;
  }

  async #statement<R>(lease: Lease, analysis: Analysis, text: string, values: Values, signal: AbortSignal): Promise<QueryResult<R>> {
    if (this.#readsOnly) refuseWrites(analysis);
    for (const savepoint of this.#savepoints) {
      if (savepoint.set) continue;
      // Its end puts back what was before.
      const mode = savepoint.readOnly && !this.#readOnly ? "; SET TRANSACTION READ ONLY" : "";
      await this.#send(lease, `SAVEPOINT ${savepoint.name}${mode}`, undefined, signal);
      savepoint.set = true;
    }
    if (analysis.leavesState) lease.discard();
    try {
      const result = await this.#send<R>(lease, text, values, signal);
      this.#noteStray(lease);
      if (this.#strayed) throw this.#doomed;
      return result;
    } catch (error) {
      this.#noteStray(lease);
      throw this.#lease ? this.#translate(error) : error;
    }
  }

  /** A text that could not be parsed may have held a COMMIT; what came after it would stand alone. */
  #noteStray(lease: Lease): void {
    if (lease.transactionStatus !== "I") return;
    this.#strayed = true;
    this.#doomed ??= new CodedError("failed_precondition", "a statement ended the transaction it was in");
  }

  async #send<R>(lease: Lease, text: string, values: Values, signal: AbortSignal): Promise<QueryResult<R>> {
    try {
      return await lease.query<R>(text, values, signal);
    } catch (error) {
      if (signal.aborted || isClientTimeout(error)) {
        this.#doomed = givenUp();
        this.#abandoned = true;
      }
      throw error;
    }
  }

  /** Errors of later statements: there is no other server to go to. */
  #translate(error: unknown): unknown {
    const kind = errorClass(error);
    if (kind === "misroute" && this.#readsOnly) return writeRefused(["refused by the server"], error);
    if (kind !== "lost" && kind !== "connect_failed" && !isClientTimeout(error)) return error;
    return new CodedError(
      "database_unavailable",
      "the connection was lost inside a transaction, which is thereby rolled back",
      { host: this.#host?.name },
      { cause: error },
    );
  }
}

/** Thrown instead of sending a write where nothing may be written. */
export function writeRefused(reasons: readonly string[], cause?: unknown): CodedError {
  return new CodedError("write_inside_read_only_transaction", "a write inside a block that only reads", { reasons }, { cause });
}

function neverBegun(): CodedError {
  return new CodedError("failed_precondition", "the transaction's first statement failed, so it has not begun");
}

function givenUp(): CodedError {
  return new CodedError("failed_precondition", "a statement of the transaction was given up, so it is rolled back");
}

function refuseWrites(analysis: Analysis): void {
  if (analysis.kind === "write" || analysis.changesMode) throw writeRefused(analysis.reasons);
}

function beginText({ readOnly, isolationLevel }: TransactionPlan): string {
  const isolation = isolationLevel === undefined ? "" : ` ISOLATION LEVEL ${isolationLevel.toUpperCase()}`;
  return `BEGIN${isolation}${readOnly ? " READ ONLY" : ""}`;
}
