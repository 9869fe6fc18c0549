import { mkdir, realpath } from "node:fs/promises";
import pg from "pg";
import {
  type Clock,
  CodedError,
  neverAborted,
  type Random,
  sharedAbortController,
  startDeadline,
  systemClock,
  systemRandom,
} from "../../base/index.ts";
import { type Logger, silentLogger } from "../../observability/index.ts";
import { attach, countUsers, detach } from "./attachments.ts";
import { locateBinaries } from "./binaries.ts";
import { databaseUser, readPassword } from "./data-directory.ts";
import { type Layout, layoutOf } from "./layout.ts";
import { ensureRunning, type PostmasterDeps, runningPort, stopServer } from "./postmaster.ts";
import { createRunner, type RunAs } from "./runner.ts";

/** The embedded server's options. */
export interface EmbeddedPostgresOptions {
  /** Directory that the nodes of one host share; made where it is missing. */
  readonly dir: string;
  /** Time for set-up, start and recovery. Default 60000 ms. */
  readonly startTimeoutMs?: number;
  /** The server is looked after this often, and started again where it died. Default 1000 ms. */
  readonly watchIntervalMs?: number;
  /** For root alone. Default "auto". */
  readonly runAs?: RunAs;
}

/** Collaborators; each has a default. */
export interface EmbeddedPostgresDeps {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
}

/** A server that belongs to its directory and is shared by the processes attached to it. Disposing the last one stops it. */
export interface EmbeddedPostgres extends AsyncDisposable {
  readonly directory: string;
  /** Connection URL with the password. Never log it. */
  url(): string;
}

const databaseName = "gitaly";
// Serializes attaching and the decision to stop, across processes; the server itself holds it, so a crash frees it.
const attachLock = 0x6769_7461;

/**
 * Attaches to the embedded server of a directory, setting it up and starting it where needed; any number of processes may
 * do so at once. Errors: `database_unavailable`, also where `signal` aborts: then no server stays that nobody uses.
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
  deps: EmbeddedPostgresDeps = {},
  signal: AbortSignal = neverAborted,
): Promise<EmbeddedPostgres> {
  const { clock = systemClock, random = systemRandom, logger = silentLogger } = deps;
  await mkdir(options.dir, { recursive: true, mode: 0o700 });
  // One spelling for all: a running server is recognized by the path on its command line.
  const layout = layoutOf(await realpath(options.dir));
  const runner = await createRunner(await locateBinaries(), layout.root, options.runAs ?? "auto");
  const launcher: PostmasterDeps = { runner, clock, random, logger };
  using deadline = startDeadline(clock, options.startTimeoutMs ?? 60_000, signal);
  try {
    const note = await attachUnderLock(layout, launcher, deadline.signal);
    return new Embedded(layout, note, options.watchIntervalMs ?? 1000, launcher, await readPassword(layout));
  } catch (error) {
    await stopUnused(layout, launcher, () => countUsers(layout)).catch((cause) =>
      logger.debug("embedded database left as it is", { cause }),
    );
    throw error;
  }
}

/** Stops the server if, by `usersLeft`, nobody uses it any more; no other process attaches meanwhile. */
async function stopUnused(layout: Layout, deps: PostmasterDeps, usersLeft: () => Promise<number>): Promise<void> {
  const port = await runningPort(layout);
  if (port === undefined) return;
  await underLock(port, await readPassword(layout), deps.clock, async () => {
    if ((await usersLeft()) === 0) await stopServer(layout, deps);
  });
}

class Embedded implements EmbeddedPostgres {
  readonly #layout: Layout;
  readonly #note: { name: string; port: number };
  readonly #deps: PostmasterDeps;
  readonly #password: string;
  readonly #stop = sharedAbortController();
  readonly #watch: Promise<void>;
  #disposed: Promise<void> | undefined;

  constructor(layout: Layout, note: { name: string; port: number }, watchIntervalMs: number, deps: PostmasterDeps, password: string) {
    this.#layout = layout;
    this.#note = note;
    this.#deps = deps;
    this.#password = password;
    this.#watch = this.#keepRunning(watchIntervalMs, this.#stop.signal);
  }

  get directory(): string {
    return this.#layout.root;
  }

  url(): string {
    return `postgres://${databaseUser}:${this.#password}@127.0.0.1:${this.#note.port}/${databaseName}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposed ??= this.#dispose();
    return this.#disposed;
  }

  async #dispose(): Promise<void> {
    this.#stop.abort();
    await this.#watch;
    const leave = () => detach(this.#layout, this.#note.name);
    await stopUnused(this.#layout, this.#deps, leave).catch((error) =>
      this.#deps.logger.warn("could not leave the embedded database in order", { error }),
    );
    await leave();
  }

  async #keepRunning(intervalMs: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#deps.clock.sleep(intervalMs, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        if ((await runningPort(this.#layout)) !== undefined) continue;
        const port = await ensureRunning(this.#layout, this.#deps, signal);
        this.#deps.logger.warn("embedded database was down and runs again", { port, moved: port !== this.#note.port });
        this.#note.port = port;
      } catch (error) {
        if (!signal.aborted) this.#deps.logger.error("embedded database is down", { error });
      }
    }
  }
}

async function attachUnderLock(layout: Layout, deps: PostmasterDeps, signal: AbortSignal): Promise<{ name: string; port: number }> {
  for (;;) {
    const port = await ensureRunning(layout, deps, signal);
    const password = await readPassword(layout);
    try {
      return await underLock(port, password, deps.clock, async (client) => {
        const { rowCount } = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [databaseName]);
        if (rowCount === 0) await client.query(`CREATE DATABASE ${databaseName}`);
        return { name: await attach(layout, deps.random), port };
      });
    } catch (error) {
      // Its last user stops it just now, or it is still recovering.
      deps.logger.debug("embedded database is not ready for a new user", { error });
      if (isRefusal(error))
        throw new CodedError("database_unavailable", "the embedded database refuses its own password", {}, { cause: error });
    }
    await deps.clock.sleep(50 + deps.random.int(100), signal).catch(() => {});
  }
}

function isRefusal(error: unknown): boolean {
  return ["28P01", "28000"].includes(String((error as { code?: unknown }).code));
}

/** Runs `work` while no other process attaches or stops. The lock goes with the connection. */
async function underLock<T>(port: number, password: string, clock: Clock, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    ...{ host: "127.0.0.1", port, user: databaseUser, password, database: "postgres" },
    ...{ connectionTimeoutMillis: 5000, lock_timeout: 35_000, query_timeout: 40_000, application_name: "gitaly-attach" },
  });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("SELECT pg_advisory_lock($1)", [attachLock]);
    return await work(client);
  } finally {
    using patience = startDeadline(clock, 1000);
    await Promise.race([client.end().catch(() => {}), aborted(patience.signal)]);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
