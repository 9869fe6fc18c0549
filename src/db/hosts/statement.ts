import pg from "pg";
import { type Clock, CodedError, forgetAbort, onAbort } from "../../base/index.ts";
import type { ConnectionPool, PooledConnection, Waiter } from "./connection-pool.ts";
import { readTimeoutMessage } from "./error-class.ts";
import type { LatencyWindow } from "./latency-window.ts";
import type { PreparedTexts } from "./prepared-texts.ts";
import type { ConnectionUse, Values } from "./query.ts";

/** What the statements for one server share. */
export interface StatementDeps {
  readonly clock: Clock;
  readonly pool: ConnectionPool;
  readonly latency: LatencyWindow;
  /** Those that were sent and wait for their answer, the one sent first first. */
  readonly running: Set<Statement>;
  readonly prepared: PreparedTexts;
  /** Use the protocol that takes a single statement: no second one can ride along. */
  readonly single: boolean;
  /** Called before one is sent. */
  readonly onSend: () => void;
  /** What the caller is told where there was no connection. */
  readonly refusal: (error: unknown) => unknown;
  /** Draws the conclusions of a failure; its caller is told when that is done. */
  readonly onFailure: (connection: PooledConnection, error: unknown, startedMs: number, signal: AbortSignal) => Promise<void>;
  readonly giveBack: (connection: PooledConnection) => void;
}

/** What is asked for, and by whom. */
export interface StatementCall {
  readonly text: string;
  readonly values: Values;
  readonly signal: AbortSignal;
  /** One of the two is called, once. */
  readonly resolve: (result: pg.QueryResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Whether the driver takes it that the server knows a prepared statement. */
function isParsed(client: pg.ClientBase, name: string): boolean {
  const { connection } = client as unknown as { connection: { parsedStatements: Readonly<Record<string, string>> } };
  return connection.parsedStatements[name] !== undefined;
}

/** One statement on its way to a server. It holds few objects and no promise of its own, since there is one for each call. */
export class Statement implements Waiter {
  readonly #deps: StatementDeps;
  readonly #call: StatementCall;
  readonly #giveUp = () => this.#abandon();
  #connection: PooledConnection | undefined;
  #options: ConnectionUse | undefined;
  #startedMs = 0;

  constructor(call: StatementCall, deps: StatementDeps) {
    this.#call = call;
    this.#deps = deps;
  }

  get startedMs(): number {
    return this.#startedMs;
  }

  /** Runs it on the first connection that is free, and gives that back. */
  runOnAny(options: ConnectionUse): void {
    const { pool } = this.#deps;
    this.#options = options;
    const idle = pool.take();
    onAbort(this.#call.signal, this.#giveUp);
    if (idle) this.granted(idle);
    else pool.wait(this);
  }

  /** Runs it on a connection that its caller keeps. */
  runOn(connection: PooledConnection): void {
    onAbort(this.#call.signal, this.#giveUp);
    this.granted(connection);
  }

  granted(connection: PooledConnection): void {
    const { clock, onSend, running } = this.#deps;
    if (this.#options?.discard) connection.unwanted = true;
    this.#connection = connection;
    this.#startedMs = clock.monotonic();
    running.add(this);
    try {
      if (this.#call.text.includes("\0")) throw new CodedError("invalid_argument", "an SQL text holds a NUL character");
      onSend();
      this.#send(connection, this.#options?.prepare === true);
    } catch (error) {
      this.#fail(error);
    }
  }

  #send(connection: PooledConnection, prepare: boolean): void {
    const { single, prepared } = this.#deps;
    const { text, values } = this.#call;
    const { client } = connection;
    const name = prepare && (single || values?.length) ? prepared.nameFor(text, connection) : undefined;
    // What a value's or a type's own code throws may be anything.
    const answered = (error: Error | null | undefined, result: pg.QueryResult | undefined) => {
      if (name !== undefined && isParsed(client, name)) connection.prepared.add(name);
      if (!error && result) {
        this.#done(result);
      } else if (error && name !== undefined && this.#deps.running.has(this) && prepared.isRefused(name, error)) {
        connection.unwanted = true;
        // The driver sends it when the server has ended its answer to this one.
        this.#send(connection, false);
      } else {
        // Of values that it cannot send the driver closes what is prepared, and does not know it any more.
        if (name !== undefined && !(error instanceof pg.DatabaseError)) connection.unwanted = true;
        this.#fail(error);
      }
    };
    if (name !== undefined) client.query({ name, text, values: values as unknown[] }, answered);
    else if (single && !values?.length) client.query({ text, queryMode: "extended" } as pg.QueryConfig, answered);
    else client.query(text, values as unknown[], answered);
  }

  refused(error: unknown): void {
    forgetAbort(this.#call.signal, this.#giveUp);
    this.#call.reject(this.#deps.refusal(error));
  }

  /** Its server should have cancelled it by now. */
  timeOut(): void {
    this.#fail(new Error(readTimeoutMessage));
  }

  #done(result: pg.QueryResult): void {
    if (!this.#finish()) return;
    const { clock, latency } = this.#deps;
    const nowMs = clock.monotonic();
    latency.add(nowMs - this.#startedMs, nowMs);
    this.#end();
    this.#call.resolve(result);
  }

  #fail(error: unknown): void {
    if (!this.#finish()) return;
    const end = () => {
      this.#end();
      this.#call.reject(error);
    };
    this.#deps.onFailure(this.#connection as PooledConnection, error, this.#startedMs, this.#call.signal).then(end, end);
  }

  /** Nobody waits for it any longer. */
  #abandon(): void {
    const { signal, reject } = this.#call;
    if (this.#connection) this.#fail(signal.reason);
    else if (this.#deps.pool.withdraw(this)) reject(signal.reason);
  }

  /** False where it was over before: what comes later is for nobody. */
  #finish(): boolean {
    if (!this.#deps.running.delete(this)) return false;
    forgetAbort(this.#call.signal, this.#giveUp);
    return true;
  }

  #end(): void {
    if (this.#options) this.#deps.giveBack(this.#connection as PooledConnection);
  }
}
