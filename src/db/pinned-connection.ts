import { CodedError, Mutex, neverAborted } from "../base/index.ts";
import { type Analysis, refuseUseless } from "./analyse.ts";
import { errorClass, isClientTimeout } from "./hosts/error-class.ts";
import type { Host, Lease } from "./hosts/host.ts";
import type { QueryResult, Values } from "./hosts/query.ts";
import type { OpenTransaction } from "./session.ts";
import { Transaction } from "./transaction.ts";

/** What a pinned connection works with. */
export interface PinnedConnectionDeps {
  readonly host: Host;
  readonly lease: Lease;
  readonly analyse: (text: string) => Analysis;
  /** Told before everything that may write, and after it where it was done. */
  readonly onWrite: (outcome: { readonly acknowledged: boolean }) => Promise<void> | undefined;
  readonly signal: AbortSignal;
}

/** One connection to the primary that a piece of work has for itself: settings, cursors, temporary tables and locks stay with it. */
export class PinnedConnection implements OpenTransaction {
  readonly #deps: PinnedConnectionDeps;
  readonly #turn = new Mutex();
  #transaction: Transaction | undefined;
  #open = true;
  /** It is busy with what nobody waits for, or in a transaction that nobody ends. */
  #abandoned = false;

  constructor(deps: PinnedConnectionDeps) {
    this.#deps = deps;
  }

  get open(): boolean {
    return this.#open;
  }

  get signal(): AbortSignal {
    return (this.#transaction ?? this.#deps).signal;
  }

  /** Runs a statement on the connection, after those that came before; in its transaction while one is open. */
  async query<R>(text: string, values: Values, signal: AbortSignal): Promise<QueryResult<R>> {
    if (!this.#open) throw new CodedError("failed_precondition", "the connection was given back");
    const transaction = this.#transaction;
    if (transaction) return await transaction.query<R>(text, values, signal);
    const turn = () => this.#transaction?.query<R>(text, values, signal) ?? this.#statement<R>(text, values, signal);
    return await this.#turn.run(turn, signal);
  }

  /** Runs `fn` as a transaction on the connection, or under a savepoint of the one that is open. */
  async nested<T>(fn: () => Promise<T>, options: Parameters<OpenTransaction["nested"]>[1], signal: AbortSignal): Promise<T> {
    const open = this.#transaction && { transaction: this.#transaction, begun: false };
    // What came before is no part of it, and must not be undone with it.
    const { transaction, begun } = open ?? (await this.#turn.run(async () => this.#begin(options), signal));
    if (!begun) return await transaction.nested(fn, options, signal);
    try {
      return await transaction.perform(fn, this.#deps.onWrite);
    } finally {
      if (transaction.abandoned) this.#abandon();
      this.#transaction = undefined;
    }
  }

  /** The transaction that is open, or a new one. */
  #begin(options: Parameters<OpenTransaction["nested"]>[1]): { readonly transaction: Transaction; readonly begun: boolean } {
    if (this.#transaction) return { transaction: this.#transaction, begun: false };
    this.#refuseAbandoned();
    const { analyse, host, lease, signal } = this.#deps;
    const borrowed = { name: host.name, role: host.role, acquire: async () => lent(lease) };
    this.#transaction = new Transaction({
      analyse,
      signal,
      start: async (_first, _text, begin) => {
        try {
          return await begin(borrowed, { readOnly: options.readOnly, isolationLevel: options.isolationLevel });
        } catch (error) {
          // It was not begun as far as its user knows; the connection has more to do.
          await lease.query("ROLLBACK", undefined, neverAborted).catch(() => this.#abandon());
          throw error;
        }
      },
    });
    return { transaction: this.#transaction, begun: true };
  }

  /** Gives the connection back. Where something was left on it, it is closed. */
  release(): void {
    this.#open = false;
    this.#deps.lease[Symbol.dispose]();
  }

  #abandon(): void {
    this.#abandoned = true;
    this.#deps.lease.discard();
  }

  #refuseAbandoned(): void {
    if (this.#abandoned) throw new CodedError("failed_precondition", "a statement of the connection was given up, so it is closed");
  }

  async #statement<R>(text: string, values: Values, signal: AbortSignal): Promise<QueryResult<R>> {
    const { analyse, lease, onWrite, host } = this.#deps;
    this.#refuseAbandoned();
    const analysis = analyse(text);
    if (analysis.controlsTransaction) {
      throw new CodedError("invalid_argument", "transaction control belongs to transaction()", { reasons: analysis.reasons });
    }
    refuseUseless(analysis);
    if (analysis.leavesState) lease.discard();
    const writes = !["read", "session", "empty"].includes(analysis.kind);
    if (writes) await onWrite({ acknowledged: false });
    try {
      const result = await lease.query<R>(text, values, signal);
      if (writes) await onWrite({ acknowledged: true });
      return result;
    } catch (error) {
      // What stops it at the server may come late, and would stop the next one.
      if (signal.aborted || isClientTimeout(error)) this.#abandon();
      if (writes) await onWrite({ acknowledged: false });
      const kind = errorClass(error);
      const lost = kind === "lost" || isClientTimeout(error);
      if (!lost && kind !== "connect_failed") throw error;
      const code = lost && writes ? "outcome_unknown" : "database_unavailable";
      throw new CodedError(code, "the connection was lost", { host: host.name }, { cause: error });
    }
  }
}

/** The same connection for somebody who gives it back to its holder. */
function lent(lease: Lease): Lease {
  return {
    query: (text, values, signal) => lease.query(text, values, signal),
    get transactionStatus() {
      return lease.transactionStatus;
    },
    discard: () => lease.discard(),
    [Symbol.dispose]: () => {},
  };
}
