import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "../../src/config/index.ts";
import { loadConfig } from "../../src/config/index.ts";
import { createMetrics, type LogFields, type Logger } from "../../src/observability/index.ts";
import { createServer, type GitalyServer, type ServerOverrides } from "../../src/server/index.ts";
import { configInput } from "./config-input.ts";
import { removeDataDirs } from "./gitaly-process.ts";
import { tempDir } from "./temp-dir.ts";

/** A database that nobody answers at: most tests of a node's life need none. */
const noDatabase = "postgres://nobody@127.0.0.1:1/none";

/** A logger that keeps each line as JSON text. */
function keptLog(): { readonly lines: string[]; readonly logger: Logger } {
  const lines: string[] = [];
  const at = (level: string, base: LogFields) => (message: string, fields?: LogFields) =>
    void lines.push(JSON.stringify({ level, message, ...base, ...fields }, withErrors));
  const make = (base: LogFields): Logger => ({
    debug: at("debug", base),
    info: at("info", base),
    warn: at("warn", base),
    error: at("error", base),
    child: (fields) => make({ ...base, ...fields }),
  });
  return { lines, logger: make({}) };
}

function withErrors(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (!(value instanceof Error)) return value;
  const { name, message, stack, cause } = value;
  return { name, message, stack, cause, ...(value as object) };
}

/** A node in this process. */
export interface ServerNode {
  readonly server: GitalyServer;
  readonly dataDir: string;
  readonly readyFile: string;
  readonly log: readonly string[];
  /** The metrics page. */
  metrics(): Promise<string>;
}

/** Nodes in this process, each on free ports with a directory of its own. Disposing it destroys them and removes all. */
export class ServerFixture implements AsyncDisposable {
  readonly root: string;
  readonly #dir: AsyncDisposable;
  readonly #servers: GitalyServer[] = [];

  private constructor(dir: { readonly path: string } & AsyncDisposable) {
    this.root = dir.path;
    this.#dir = dir;
  }

  static async open(): Promise<ServerFixture> {
    return new ServerFixture(await tempDir());
  }

  /** The configuration of a node `name`: flags by their names, and environment. */
  config(name: string, flags: Record<string, string | readonly string[]> = {}, env: Record<string, string> = {}): Config {
    const any = "127.0.0.1:0";
    const given = {
      "data-dir": join(this.root, name),
      "ready-file": join(this.root, `${name}.ready`),
      ...{ "listen-addr": any, "http-addr": any, "gossip-addr": any },
      ...flags,
    };
    return loadConfig(configInput({ flags: given, env: { GITALY_DATABASE_URL: noDatabase, GITALY_DRAIN_LINGER: "100ms", ...env } }));
  }

  /** Starts a node; it listens, and may be warming. */
  async start(
    name: string,
    flags: Record<string, string | readonly string[]> = {},
    { env = {}, ...overrides }: ServerOverrides & { env?: Record<string, string> } = {},
  ): Promise<ServerNode> {
    const { lines, logger } = keptLog();
    const metrics = createMetrics();
    const server = await createServer(this.config(name, flags, env), { logger, metrics, ...overrides });
    this.#servers.push(server);
    return {
      server,
      dataDir: join(this.root, name),
      readyFile: join(this.root, `${name}.ready`),
      log: lines,
      metrics: () => metrics.expose(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.destroy()));
    await removeDataDirs(this.root);
    await this.#dir[Symbol.asyncDispose]();
  }
}

/** Waits until `condition` holds; other nodes make it so in their own time. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(20);
}

/** The facts of a ready file. */
export function readFacts(file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
}
