import type { Clock } from "../../base/index.ts";
import { poolEndedMessage, poolTimeoutMessage } from "./error-class.ts";
import type { RoleClient } from "./role-client.ts";

/** How many connections there are, and for how long. */
export interface ConnectionPoolOptions {
  readonly size: number;
  readonly waitMs: number;
  readonly idleTimeoutMs: number;
  readonly maxLifetimeMs: number;
}

/** What a pool works with. */
export interface ConnectionPoolDeps {
  readonly clock: Clock;
  /** Makes a client that is not connected yet. May throw, where a file cannot be read that it needs. */
  readonly create: () => RoleClient;
  /** Looks at a client that has just connected; throws where it must not be used. */
  readonly verify: (client: RoleClient) => Promise<void>;
  /** Told of a connection that died unused. */
  readonly onIdleError: (error: Error) => void;
}

/** A connection and what the pool knows of it. */
export class PooledConnection {
  readonly client: RoleClient;
  readonly openedAtMs: number;
  /** Names of the statements that were prepared on it. */
  readonly prepared = new Set<string>();
  /** Nothing more can be sent on it; it is closed when it comes back. */
  broken = false;
  /** It works, and is closed when it comes back. */
  unwanted = false;
  state: "opening" | "idle" | "lent" | "closed" = "opening";
  idleSinceMs = 0;

  constructor(client: RoleClient, openedAtMs: number) {
    this.client = client;
    this.openedAtMs = openedAtMs;
  }
}

/** Who waits for a connection. One of the two is called, once. */
export interface Waiter {
  /** The connection is theirs, to give back once. */
  readonly granted: (connection: PooledConnection) => void;
  /** With what opening one failed with, or the wait's end. */
  readonly refused: (error: unknown) => void;
}

/**
 * The connections to one server. The one used last is lent first, and lending one that is idle costs next to nothing: no timer, no
 * listener and no promise for each use.
 */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #deps: ConnectionPoolDeps;
  /** All but those that are being closed. */
  readonly #connections = new Set<PooledConnection>();
  /** Those that serve nobody, the one used last at the end. */
  readonly #idle: PooledConnection[] = [];
  /** Until when they wait; the first one has waited longest. */
  readonly #waiters = new Map<Waiter, number>();
  readonly #closing = new Set<Promise<void>>();
  #opening = 0;
  #lent = 0;
  #waitTimer: Disposable | undefined;
  #idleTimer: Disposable | undefined;
  #ended: Promise<void> | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(options: ConnectionPoolOptions, deps: ConnectionPoolDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Connections that are open or being opened. */
  get total(): number {
    return this.#connections.size;
  }

  get idle(): number {
    return this.#idle.length;
  }

  /** Who uses a connection or waits for one. */
  get users(): number {
    return this.#lent + this.#waiters.size;
  }

  /** Whether there may be no more connections and those in use are the reason for it, not one that does not open. */
  get exhausted(): boolean {
    if (this.#connections.size < this.#options.size || this.#idle.length > 0 || this.#opening === this.#connections.size) return false;
    // One that is being opened is in place of one that was closed a moment ago, unless it takes long.
    const sinceMs = this.#deps.clock.monotonic() - this.#options.waitMs / 2;
    return this.#opening === 0 || [...this.#connections].every(({ state, openedAtMs }) => state !== "opening" || openedAtMs > sinceMs);
  }

  /** An idle connection, where there is one. Give it back once. */
  take(): PooledConnection | undefined {
    const connection = this.#idle.pop();
    if (connection) this.#lend(connection);
    return connection;
  }

  /** Asks for the first connection that is free, an open one or a new one. */
  wait(waiter: Waiter): void {
    if (this.#ended) {
      waiter.refused(endedError());
      return;
    }
    this.#waiters.set(waiter, this.#deps.clock.monotonic() + this.#options.waitMs);
    this.#openMore();
    this.#watchWaiters();
  }

  /** Takes back what was asked for; nothing is called any more. Returns whether it still waited. */
  withdraw(waiter: Waiter): boolean {
    return this.#waiters.delete(waiter);
  }

  /** Takes a connection back: for the next one who waits, or idle, or, where it is broken or too old, closed. */
  give(connection: PooledConnection): void {
    if (connection.state === "lent") this.#lent--;
    const nowMs = this.#deps.clock.monotonic();
    const usable = !connection.broken && !connection.unwanted && !this.#isOld(connection, nowMs);
    const waiter = usable ? this.#nextWaiter() : undefined;
    if (waiter) {
      this.#lend(connection);
      waiter.granted(connection);
    } else if (!usable || this.#ended) {
      this.#close(connection);
    } else {
      connection.state = "idle";
      connection.idleSinceMs = nowMs;
      this.#idle.push(connection);
      this.#idleTimer ??= this.#deps.clock.timer(this.#options.idleTimeoutMs, () => this.#closeUnused());
    }
  }

  /** Cuts what is lent; it is closed as soon as it comes back. After `end`, nobody waits any longer either. Returns how many were cut. */
  cut(): number {
    let count = 0;
    if (this.#ended) for (let waiter = this.#nextWaiter(); waiter; waiter = this.#nextWaiter()) waiter.refused(endedError());
    for (const connection of this.#connections) {
      if (connection.state !== "lent") continue;
      count++;
      connection.broken = true;
      // Ended while it runs a statement, a connection is cut.
      connection.client.end().catch(() => {});
    }
    return count;
  }

  /** Closes what is idle at once, and the rest when nobody uses it or waits for it any longer. New waits are refused. */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    for (const connection of this.#idle.splice(0)) this.#close(connection);
    this.#idleTimer?.[Symbol.dispose]();
    if (this.#connections.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
      });
    }
    this.#waitTimer?.[Symbol.dispose]();
    await Promise.all(this.#closing);
  }

  #lend(connection: PooledConnection): void {
    connection.state = "lent";
    this.#lent++;
  }

  #nextWaiter(): Waiter | undefined {
    if (this.#waiters.size === 0) return undefined;
    for (const waiter of this.#waiters.keys()) {
      this.#waiters.delete(waiter);
      return waiter;
    }
    return undefined;
  }

  /** One for each who waits, as far as there is room. */
  #openMore(): void {
    while (this.#opening < this.#waiters.size && this.#connections.size < this.#options.size) void this.#open();
  }

  async #open(): Promise<void> {
    let connection: PooledConnection | undefined;
    this.#opening++;
    try {
      connection = this.#add(this.#deps.create());
      await connection.client.connect();
      await this.#deps.verify(connection.client);
      this.#opening--;
      this.give(connection);
    } catch (error) {
      this.#opening--;
      this.#nextWaiter()?.refused(error);
      if (connection) this.#close(connection);
    }
  }

  #add(client: RoleClient): PooledConnection {
    const connection = new PooledConnection(client, this.#deps.clock.monotonic());
    this.#connections.add(connection);
    client.on("error", (error: Error) => this.#onError(connection, error));
    return connection;
  }

  /** An error that no statement hears of: the connection is gone. */
  #onError(connection: PooledConnection, error: Error): void {
    connection.broken = true;
    if (connection.state !== "idle") return;
    this.#deps.onIdleError(error);
    this.#idle.splice(this.#idle.indexOf(connection), 1);
    this.#close(connection);
  }

  #close(connection: PooledConnection): void {
    connection.state = "closed";
    this.#connections.delete(connection);
    const closing = connection.client.end().then(
      () => void this.#closing.delete(closing),
      () => void this.#closing.delete(closing),
    );
    this.#closing.add(closing);
    // First: whoever still waits gets another one, also after `end`.
    this.#openMore();
    if (this.#connections.size === 0) this.#onEmpty?.();
  }

  #isOld({ openedAtMs }: PooledConnection, nowMs: number): boolean {
    return nowMs - openedAtMs >= this.#options.maxLifetimeMs;
  }

  #closeUnused(): void {
    this.#idleTimer = undefined;
    const nowMs = this.#deps.clock.monotonic();
    const { idleTimeoutMs } = this.#options;
    const isUnused = (one: PooledConnection) => nowMs - one.idleSinceMs >= idleTimeoutMs || this.#isOld(one, nowMs);
    for (const one of this.#idle.filter(isUnused)) {
      this.#idle.splice(this.#idle.indexOf(one), 1);
      this.#close(one);
    }
    // Those that were used last are at the end.
    const first = this.#idle[0];
    if (!first || this.#ended) return;
    const waitMs = Math.max(1, first.idleSinceMs + idleTimeoutMs - nowMs);
    this.#idleTimer = this.#deps.clock.timer(waitMs, () => this.#closeUnused());
  }

  #watchWaiters(): void {
    if (this.#waitTimer) return;
    const [firstUntilMs] = this.#waiters.values();
    if (firstUntilMs === undefined) return;
    const waitMs = Math.max(0, firstUntilMs - this.#deps.clock.monotonic());
    this.#waitTimer = this.#deps.clock.timer(Math.ceil(waitMs), () => {
      this.#waitTimer = undefined;
      const nowMs = this.#deps.clock.monotonic();
      for (const untilMs of this.#waiters.values()) {
        if (untilMs > nowMs) break;
        this.#nextWaiter()?.refused(new Error(poolTimeoutMessage));
      }
      this.#watchWaiters();
    });
  }
}

function endedError(): Error {
  return new Error(poolEndedMessage);
}
