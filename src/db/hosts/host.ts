import { once } from "node:events";
import type pg from "pg";
import { type Clock, CodedError, forgetAbort, onAbort, startDeadline } from "../../base/index.ts";
import type { Logger } from "../../observability/index.ts";
import type { Position } from "../position/position.ts";
import { requestCancel } from "./cancel-request.ts";
import { ConnectionPool, type PooledConnection, type Waiter } from "./connection-pool.ts";
import type { ServerAddress } from "./connection-url.ts";
import { connectErrorClass, errorClass, isClientTimeout, NotConnectedError, poisonsConnection, poolTimeoutMessage } from "./error-class.ts";
import { LatencyWindow } from "./latency-window.ts";
import { defaultPreparedOptions, type PreparedOptions, PreparedTexts } from "./prepared-texts.ts";
import type { ConnectionUse, QueryResult, Values } from "./query.ts";
import { type AnnouncedRole, RoleClient } from "./role-client.ts";
import { type FactsRow, factsOf, factsSql, reachedPosition, type ServerFacts, writtenPosition } from "./server-facts.ts";
import { Statement, type StatementDeps } from "./statement.ts";

/** How connections to one server behave. */
export interface HostOptions extends PreparedOptions {
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
  /** Callers that may use or wait for one replica's connections; more go to other replicas while those have room. Default 40. */
  readonly maxOutstandingPerReplica: number;
  /** Callers that may wait for a connection to one server; more are refused at once. Default 1000. */
  readonly maxQueuedPerServer: number;
}

export const defaultHostOptions: HostOptions = {
  poolSize: 10,
  connectTimeoutMs: 2000,
  statementTimeoutMs: 30_000,
  idleTimeoutMs: 10_000,
  maxLifetimeMs: 30 * 60_000,
  applicationName: "gitaly",
  readOnlyReplicas: true,
  maxOutstandingPerReplica: 40,
  maxQueuedPerServer: 1000,
  ...defaultPreparedOptions,
};

// A server that is dead fails a connect by then, and is taken out for that; one that is alive is not missed for long.
const avoidedAfterLossMs = 250;

/** What a host works with. */
export interface HostDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** A connection was told something that does not fit the role the host is used in. */
  readonly onRoleDoubt?: (host: Host) => void;
}

/** A connection on loan. Dispose it exactly once, when its user is done. */
export interface Lease extends Disposable {
  query<R>(text: string, values: Values, signal: AbortSignal): Promise<QueryResult<R>>;
  /** I: idle, T: in a transaction, E: in a failed one; null: not known. */
  readonly transactionStatus: "I" | "T" | "E" | null;
  /** The connection is closed instead of kept when it comes back. */
  discard(): void;
}

/** One PostgreSQL server in one role, and the connections to it. A server whose role changes gets a new host. */
export class Host {
  readonly role: "primary" | "replica";
  /** HOST:PORT; for logs, metrics and errors. */
  readonly name: string;
  /** How long its statements took lately. */
  readonly latency = new LatencyWindow();
  /** Whether the server lets us read its replication origins, without which a logical replica cannot say what it has reached. */
  originsReadable = false;
  readonly #pool: ConnectionPool;
  readonly #options: HostOptions;
  readonly #deps: HostDeps;
  readonly #running = new Set<Statement>();
  readonly #statements: StatementDeps;
  readonly #cancels = new Set<Promise<void>>();
  #doubted = false;
  /** When a connection was lost; undefined where that is long ago. */
  #lostAtMs: number | undefined;
  #patience: Disposable | undefined;

  constructor(role: "primary" | "replica", address: ServerAddress, options: HostOptions, deps: HostDeps) {
    this.role = role;
    this.name = address.name;
    this.#options = options;
    this.#deps = deps;
    const config: pg.ClientConfig = {
      connectionString: address.url,
      connectionTimeoutMillis: options.connectTimeoutMs,
      statement_timeout: options.statementTimeoutMs,
      application_name: options.applicationName,
      keepAlive: true,
      ...(role === "replica" && options.readOnlyReplicas ? { options: "-c default_transaction_read_only=on" } : {}),
    };
    const { poolSize: size, connectTimeoutMs: waitMs, idleTimeoutMs, maxLifetimeMs } = options;
    this.#pool = new ConnectionPool(
      { size, waitMs, idleTimeoutMs, maxLifetimeMs },
      {
        clock: deps.clock,
        create: () => new RoleClient(config),
        verify: (client) => this.#verify(client),
        onIdleError: (error) => deps.logger.debug("idle database connection lost", { host: this.name, error }),
      },
    );
    this.#statements = {
      clock: deps.clock,
      pool: this.#pool,
      latency: this.latency,
      prepared: new PreparedTexts(options, () =>
        deps.logger.warn("statements are prepared no longer: a pooler shares its connections", { host: this.name }),
      ),
      running: this.#running,
      single: role === "replica",
      onSend: () => {
        this.#patience ??= this.#startPatience(options.statementTimeoutMs + 1000);
      },
      refusal: (error) => this.#refusal(error),
      onFailure: (connection, error, startedMs, signal) => this.#onFailure(connection, error, startedMs, signal),
      giveBack: (connection) => this.#giveBack(connection),
    };
  }

  /** Callers that hold or wait for a connection now. */
  get outstanding(): number {
    return this.#pool.users;
  }

  /** Whether reads are better off elsewhere, while there is an elsewhere: it has all the callers it may have, or has just lost a connection. */
  get avoided(): boolean {
    if (this.role !== "replica") return false;
    return this.outstanding >= this.#options.maxOutstandingPerReplica || this.#justLost();
  }

  /** Connections open now, and how many of them are idle. */
  get connections(): { readonly open: number; readonly idle: number } {
    return { open: this.#pool.total, idle: this.#pool.idle };
  }

  /** Lends a connection. One that is in a doubtful state when it comes back is closed. Errors: `NotConnectedError`. */
  acquire(signal: AbortSignal): Promise<Lease> {
    return new Promise((resolve, reject) => {
      this.#checkRoom(signal);
      const idle = this.#pool.take();
      if (idle) return resolve(this.#lease(idle));
      const giveUp = () => {
        if (this.#pool.withdraw(waiter)) reject(signal.reason);
      };
      const waiter: Waiter = {
        granted: (connection) => {
          forgetAbort(signal, giveUp);
          resolve(this.#lease(connection));
        },
        refused: (error) => {
          forgetAbort(signal, giveUp);
          reject(this.#refusal(error));
        },
      };
      onAbort(signal, giveUp);
      this.#pool.wait(waiter);
    });
  }

  /** One statement on any connection. */
  query<R>(text: string, values: Values, options: ConnectionUse, signal: AbortSignal): Promise<QueryResult<R>> {
    return new Promise((resolve, reject) => {
      this.#checkRoom(signal);
      new Statement({ text, values, signal, resolve, reject }, this.#statements).runOnAny(options);
    });
  }

  /** What can be read here now, as a place in the log of the primary, whose own place names that log; undefined where it is not known. */
  async reached(primary: Position | undefined, signal: AbortSignal): Promise<Position | undefined> {
    const facts = await this.#facts(signal);
    return facts && reachedPosition(facts, primary);
  }

  /** Where a primary's log ends now: everything committed before is below. Undefined where the server is no primary. */
  async written(signal: AbortSignal): Promise<Position | undefined> {
    const facts = await this.#facts(signal);
    return facts && writtenPosition(facts);
  }

  /** Waits for running work, then closes every connection. */
  async close(): Promise<void> {
    await this.#pool.end();
    this.#patience?.[Symbol.dispose]();
    await Promise.all(this.#cancels);
  }

  /** Closes what is idle at once and the rest when its user is done, or after `timeoutMs`. Resolves with whether it had to be forced. */
  async drain(timeoutMs: number, signal: AbortSignal): Promise<"gentle" | "forced"> {
    let forced = false;
    const force = () => {
      forced = this.#pool.cut() > 0;
    };
    using _timer = this.#deps.clock.timer(timeoutMs, force);
    signal.addEventListener("abort", force, { once: true });
    if (signal.aborted) force();
    try {
      await this.close();
    } finally {
      signal.removeEventListener("abort", force);
    }
    return forced ? "forced" : "gentle";
  }

  /** Ends every connection that is on loan; whoever waits for an answer on one learns that it is lost. */
  cut(): void {
    this.#pool.cut();
  }

  async #facts(signal: AbortSignal): Promise<ServerFacts | undefined> {
    const sql = factsSql("full", { origins: this.originsReadable, legacy: false });
    const { rows } = await this.query<FactsRow>(sql, undefined, { discard: false, prepare: false }, signal);
    return rows[0] && factsOf(rows[0], this.#deps.clock.monotonic());
  }

  /** Asks a new connection what it leads to: between the last check and now a primary may have become something else. */
  async #verify(client: RoleClient): Promise<void> {
    client.onAnnounced = (announced) => this.#noteAnnounced(announced);
    const { inRecovery, readOnly } = await client.role(this.role, this.#options.connectTimeoutMs);
    if (this.role === "primary" && (inRecovery || readOnly)) {
      this.#doubt();
      throw new CodedError("database_unavailable", "the database server does not accept writes", { host: this.name, inRecovery, readOnly });
    }
    if (this.role === "replica") this.#noteAnnounced({ inRecovery, readOnly });
  }

  #noteAnnounced({ inRecovery, readOnly }: AnnouncedRole): void {
    if (this.role === "primary" ? inRecovery === true || readOnly === true : inRecovery === false) this.#doubt();
  }

  /** Said once: whoever listens finds out, and a host that turns out right stays. */
  #doubt(): void {
    if (this.role === "replica" && this.#doubted) return;
    this.#doubted = true;
    this.#deps.onRoleDoubt?.(this);
  }

  /** One lost connection is no reason to take a server out, but where it has died, every read until that is found out would fail first. */
  #justLost(): boolean {
    if (this.#lostAtMs === undefined) return false;
    if (this.#deps.clock.monotonic() - this.#lostAtMs < avoidedAfterLossMs) return true;
    this.#lostAtMs = undefined;
    return false;
  }

  /** Throws where the caller has gone, or too many wait already. */
  #checkRoom(signal: AbortSignal): void {
    signal.throwIfAborted();
    const { poolSize, maxQueuedPerServer } = this.#options;
    if (this.#pool.users >= poolSize + maxQueuedPerServer) throw new NotConnectedError(this.name, "overload", undefined);
  }

  #refusal(error: unknown): NotConnectedError {
    // The same message for a server that hangs and a busy pool.
    const exhausted = error instanceof Error && error.message === poolTimeoutMessage && this.#pool.exhausted;
    return new NotConnectedError(this.name, exhausted ? "overload" : connectErrorClass(error), error);
  }

  #lease(connection: PooledConnection): Lease {
    const { client } = connection;
    return {
      query: <R>(text: string, values: Values, signal: AbortSignal) =>
        new Promise<QueryResult<R>>((resolve, reject) => {
          signal.throwIfAborted();
          new Statement({ text, values, signal, resolve, reject }, this.#statements).runOn(connection);
        }),
      get transactionStatus() {
        return client.getTransactionStatus() as "I" | "T" | "E" | null;
      },
      discard: () => {
        connection.unwanted = true;
      },
      [Symbol.dispose]: () => this.#giveBack(connection),
    };
  }

  #giveBack(connection: PooledConnection): void {
    // Whatever state a transaction left behind must not reach the next user.
    if (connection.client.getTransactionStatus() !== "I") connection.broken = true;
    this.#pool.give(connection);
  }

  /** Draws the conclusions of a failure. */
  async #onFailure(connection: PooledConnection, error: unknown, startedMs: number, signal: AbortSignal): Promise<void> {
    const { client } = connection;
    // The reason of an abort is its caller's, and says nothing of the server.
    const kind = signal.aborted ? "statement" : errorClass(error);
    if (kind === "lost") this.#lostAtMs = this.#deps.clock.monotonic();
    // Only the server's own answers would show one that answers nothing in time as quick.
    if (kind === "slow") {
      const nowMs = this.#deps.clock.monotonic();
      this.latency.add(nowMs - startedMs, nowMs, { timedOut: true });
    }
    if (signal.aborted || poisonsConnection(error)) connection.broken = true;
    // The server would go on with what nobody waits for.
    if (signal.aborted || isClientTimeout(error)) this.#cancel(client);
    // A primary that refuses writes was demoted; its name may lead to another server by now.
    if (this.role === "primary" && kind === "misroute") {
      connection.broken = true;
      this.#doubt();
    }
    if (!connection.broken && !(await this.#isReady(client, signal))) connection.broken = true;
    // The driver's leads to its socket, not to who asked. The reason of an abort is its caller's.
    if (!signal.aborted && error instanceof Error && !CodedError.is(error)) Error.captureStackTrace(error);
  }

  /** Fails the statements that the server should have cancelled. All have the same time, so that one timer does for all. */
  #startPatience(waitMs: number): Disposable {
    return this.#deps.clock.timer(waitMs, () => {
      const limitMs = this.#options.statementTimeoutMs + 1000;
      const nowMs = this.#deps.clock.monotonic();
      this.#patience = undefined;
      for (const running of this.#running) {
        const leftMs = running.startedMs + limitMs - nowMs;
        if (leftMs > 0) {
          this.#patience = this.#startPatience(leftMs);
          return;
        }
        running.timeOut();
      }
    });
  }

  /** Whether the server ends its answer soon: an error comes before it says in which state the connection is. */
  async #isReady(client: pg.ClientBase & { readonly readyForQuery?: boolean }, signal: AbortSignal): Promise<boolean> {
    if (client.readyForQuery !== false) return true;
    using deadline = startDeadline(this.#deps.clock, this.#options.connectTimeoutMs, signal);
    return await once(client, "drain", { signal: deadline.signal }).then(
      () => true,
      () => false,
    );
  }

  #cancel(client: pg.ClientBase): void {
    const { clock } = this.#deps;
    const cancel = requestCancel(client, this.#options.connectTimeoutMs, clock).finally(() => this.#cancels.delete(cancel));
    this.#cancels.add(cancel);
  }
}
