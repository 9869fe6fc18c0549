import pg from "pg";
import { abortable, CodedError } from "../../base/index.ts";
import type { Logger } from "../../observability/index.ts";
import type { ServerAddress } from "./connection-url.ts";
import { type ErrorClass, errorClass, poisonsConnection } from "./error-class.ts";

const poolTimeoutMessage = "timeout exceeded when trying to connect";

/** Parameters of a statement: `$1` is the first. */
export type Values = readonly unknown[] | undefined;

/** One statement's outcome, as the driver gives it. */
export interface QueryResult<R = Record<string, unknown>> {
  readonly rows: R[];
  /** Null for statements that count no rows. */
  readonly rowCount: number | null;
  readonly command: string;
}

/** How connections to one server behave. */
export interface HostOptions {
  /** Connections kept per server at most. Default 10. */
  readonly poolSize: number;
  /** Wait for a free or a new connection. Default 2000 ms. */
  readonly connectTimeoutMs: number;
  /** The server cancels longer statements; the client gives up one second later. Default 30000 ms. */
  readonly statementTimeoutMs: number;
  /** Unused connections are closed after this. Default 10000 ms. */
  readonly idleTimeoutMs: number;
  /** Connections are replaced after this, so that none rots unnoticed. Default 30 minutes. */
  readonly maxLifetimeMs: number;
  /** Shown by the server in pg_stat_activity. Default "gitaly". */
  readonly applicationName: string;
  /**
   * Connections to replicas ask for `default_transaction_read_only=on`, so that a replica that was promoted unnoticed refuses
   * writes. Turn it off behind a pooler that refuses unknown start-up options. Default true.
   */
  readonly readOnlyReplicas: boolean;
}

export const defaultHostOptions: HostOptions = {
  poolSize: 10,
  connectTimeoutMs: 2000,
  statementTimeoutMs: 30_000,
  idleTimeoutMs: 10_000,
  maxLifetimeMs: 30 * 60_000,
  applicationName: "gitaly",
  readOnlyReplicas: true,
};

/** A connection on loan. Dispose it exactly once, when its user is done. */
export interface Lease extends Disposable {
  query<R>(text: string, values: Values, signal: AbortSignal): Promise<QueryResult<R>>;
  /** I: idle, T: in a transaction, E: in a failed one; null: not known. */
  readonly transactionStatus: "I" | "T" | "E" | null;
  /** The connection is closed instead of kept when it comes back. */
  discard(): void;
}

/** No connection could be had: nothing was sent, so anything may be tried again or elsewhere. */
export class NotConnectedError extends CodedError {
  readonly reason: ErrorClass;

  constructor(host: string, reason: ErrorClass, cause: unknown) {
    const message = reason === "overload" ? "every connection to the database server is in use" : "cannot connect to the database server";
    super("database_unavailable", message, { host, reason }, { cause, retryAfterMs: 1000 });
    this.reason = reason;
  }
}

/** One PostgreSQL server and the connections to it. */
export class Host {
  readonly role: "primary" | "replica";
  /** HOST:PORT; for logs, metrics and errors. */
  readonly name: string;
  readonly #pool: pg.Pool;
  readonly #poolSize: number;
  #outstanding = 0;

  constructor(role: "primary" | "replica", address: ServerAddress, options: HostOptions, deps: { logger: Logger }) {
    this.role = role;
    this.name = address.name;
    this.#poolSize = options.poolSize;
    this.#pool = new pg.Pool({
      connectionString: address.url,
      max: options.poolSize,
      connectionTimeoutMillis: options.connectTimeoutMs,
      idleTimeoutMillis: options.idleTimeoutMs,
      maxLifetimeSeconds: Math.ceil(options.maxLifetimeMs / 1000),
      statement_timeout: options.statementTimeoutMs,
      query_timeout: options.statementTimeoutMs + 1000,
      application_name: options.applicationName,
      keepAlive: true,
      ...(role === "replica" && options.readOnlyReplicas ? { options: "-c default_transaction_read_only=on" } : {}),
    });
    // Without a listener, the end of an idle connection would end the process.
    this.#pool.on("error", (error) => deps.logger.debug("idle database connection lost", { host: this.name, error }));
  }

  /** Callers that hold or wait for a connection now. */
  get outstanding(): number {
    return this.#outstanding;
  }

  /** Connections open now, and how many of them are idle. */
  get connections(): { readonly open: number; readonly idle: number } {
    return { open: this.#pool.totalCount, idle: this.#pool.idleCount };
  }

  /** Lends a connection. One that is in a doubtful state when it comes back is closed. Errors: `NotConnectedError`. */
  async acquire(signal: AbortSignal): Promise<Lease> {
    signal.throwIfAborted();
    this.#outstanding++;
    try {
      return this.#lease(await this.#checkOut(signal));
    } catch (error) {
      this.#outstanding--;
      throw error;
    }
  }

  /** One statement on any connection. With `discard`, the connection is closed afterwards. */
  async query<R>(text: string, values: Values, options: { discard: boolean }, signal: AbortSignal): Promise<QueryResult<R>> {
    using lease = await this.acquire(signal);
    if (options.discard) lease.discard();
    return await lease.query<R>(text, values, signal);
  }

  /** Waits for running work, then closes every connection. */
  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end();
  }

  async #checkOut(signal: AbortSignal): Promise<pg.PoolClient> {
    const pending = this.#pool.connect();
    try {
      return await abortable(pending, signal);
    } catch (error) {
      // The connection may still come; nobody is left to give it back but us.
      pending.then(
        (client) => client.release(),
        () => {},
      );
      if (signal.aborted) throw error;
      // The driver has one message for a dead server and a busy pool.
      const exhausted = error instanceof Error && error.message === poolTimeoutMessage && this.#pool.totalCount >= this.#poolSize;
      throw new NotConnectedError(this.name, exhausted ? "overload" : errorClass(error), error);
    }
  }

  #lease(client: pg.PoolClient): Lease {
    let broken = false;
    // The pool takes its own listener off while a connection is out.
    const onError = () => {
      broken = true;
    };
    client.on("error", onError);
    return {
      query: async <R>(text: string, values: Values, signal: AbortSignal) => {
        try {
          const result = client.query<R & pg.QueryResultRow>(this.#statement(text, values));
          return (await abortable(result, signal)) as QueryResult<R>;
        } catch (error) {
          // After an abort the server may still be at work on this connection.
          if (signal.aborted || poisonsConnection(error)) broken = true;
          // A primary that refuses writes was demoted; its name may lead to another server by now.
          if (this.role === "primary" && errorClass(error) === "misroute") broken = true;
          throw error;
        }
      },
      get transactionStatus() {
        return client.getTransactionStatus() as "I" | "T" | "E" | null;
      },
      discard: () => {
        broken = true;
      },
      [Symbol.dispose]: () => {
        client.off("error", onError);
        this.#outstanding--;
        // Whatever state a transaction left behind must not reach the next user.
        client.release(broken || client.getTransactionStatus() !== "I");
      },
    };
  }

  #statement(text: string, values: Values): pg.QueryConfig {
    if (text.includes("\0")) throw new CodedError("invalid_argument", "an SQL text holds a NUL character");
    const config = { text, ...(values ? { values: [...values] } : {}) };
    // The extended protocol takes a single statement: no second one can ride along to a replica.
    return this.role === "replica" ? ({ ...config, queryMode: "extended" } as pg.QueryConfig) : config;
  }
}
