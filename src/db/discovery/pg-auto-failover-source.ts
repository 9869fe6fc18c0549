import { Socket } from "node:net";
import pg from "pg";
import { abortable, type Clock, CodedError, type Random, startDeadline } from "../../base/index.ts";
import type { Logger } from "../../observability/index.ts";
import { isSettledChange, type MonitorNode, serversOfNodes } from "./monitor-nodes.ts";
import { waitAfterFailureMs } from "./pace.ts";
import type { DiscoveryAnswer, DiscoverySource } from "./source.ts";

/** A formation that pg_auto_failover looks after. */
export interface PgAutoFailoverSourceOptions {
  /** URL of the monitor's database, `postgres://autoctl_node@MONITOR:PORT/pg_auto_failover`: a role that may read its table of nodes. */
  readonly monitorUrl: string;
  /** Default `default`. */
  readonly formation: string;
  /** Default 0. */
  readonly groupId: number;
}

export const defaultPgAutoFailoverSourceOptions: Omit<PgAutoFailoverSourceOptions, "monitorUrl"> = { formation: "default", groupId: 0 };

/** What the source works with. */
export interface PgAutoFailoverSourceDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const connectTimeoutMs = 2000;
const endTimeoutMs = 500;
const minReconnectMs = 1000;
const reconnectPace = { retryMs: minReconnectMs, maxRetryMs: 10_000 };
const maxNodes = 256;

const nodesQuery = `
SELECT nodename AS name, nodehost AS host, nodeport AS port,
       goalstate::text AS "goalState", reportedstate::text AS "reportedState", health
FROM pgautofailover.node WHERE formationid = $1 AND groupid = $2 ORDER BY nodeid LIMIT ${maxNodes}`;

/**
 * Reads the monitor's table of nodes, and listens for changes. The table is read anew after each loss of the connection, since
 * notifications are lost with it. A monitor that is away changes nothing: what it said last stands.
 */
export class PgAutoFailoverSource implements DiscoverySource {
  readonly name = "pg_auto_failover";
  readonly authoritative = true;
  readonly #options: PgAutoFailoverSourceOptions;
  readonly #deps: PgAutoFailoverSourceDeps;
  /** The connection that listens; lookups use it while it lives. */
  #listener: pg.Client | undefined;

  constructor(options: PgAutoFailoverSourceOptions, deps: PgAutoFailoverSourceDeps) {
    if (!URL.canParse(options.monitorUrl) || !/^postgres(ql)?:\/\//.test(options.monitorUrl)) {
      throw new CodedError("bad_config", "the monitor's URL is postgres://USER@HOST:PORT/DATABASE", { key: "discovery.monitorUrl" });
    }
    this.#options = options;
    this.#deps = deps;
  }

  async lookup(signal: AbortSignal): Promise<DiscoveryAnswer> {
    signal.throwIfAborted();
    const listener = this.#listener;
    if (listener) return await this.#read(listener, signal);
    await using connection = this.#connection();
    await abortable(connection.client.connect(), signal);
    return await this.#read(connection.client, signal);
  }

  async watch(onChange: () => void, signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#deps;
    let losses = 0;
    while (!signal.aborted) {
      try {
        await this.#listen(
          () => {
            losses = 0;
            onChange();
          },
          onChange,
          signal,
        );
      } catch (error) {
        if (!signal.aborted) logger.debug("the monitor's notifications are not heard", { source: this.name, error });
      }
      await clock.sleep(minReconnectMs + waitAfterFailureMs(++losses, reconnectPace, random), signal).catch(() => {});
    }
  }

  /** Listens until the connection or the signal ends. */
  async #listen(onConnected: () => void, onChange: () => void, signal: AbortSignal): Promise<void> {
    await using connection = this.#connection();
    const { client } = connection;
    const ended = new Promise<void>((resolve) => client.once("end", () => resolve()));
    client.on("notification", ({ channel, payload = "" }) => {
      if (channel === "state" && isSettledChange(payload, this.#options)) onChange();
    });
    await abortable(client.connect(), signal);
    await abortable(client.query("LISTEN state"), signal);
    this.#listener = client;
    try {
      onConnected();
      await abortable(ended, signal);
    } finally {
      this.#listener = undefined;
    }
  }

  async #read(client: pg.Client, signal: AbortSignal): Promise<DiscoveryAnswer> {
    const { formation, groupId } = this.#options;
    try {
      const { rows } = await abortable(client.query<MonitorNode>(nodesQuery, [formation, groupId]), signal);
      return { servers: serversOfNodes(rows) };
    } catch (error) {
      // Nobody waits for that answer any more; with it the connection that does not give it goes.
      if (signal.aborted) void client.end().catch(() => {});
      throw error;
    }
  }

  #connection(): { client: pg.Client } & AsyncDisposable {
    const socket = new Socket();
    const client = new pg.Client({
      connectionString: this.#options.monitorUrl,
      connectionTimeoutMillis: connectTimeoutMs,
      application_name: "gitaly discovery",
      keepAlive: true,
      stream: () => socket,
    });
    // Told by "end" and by failing queries too.
    client.on("error", () => {});
    return {
      client,
      [Symbol.asyncDispose]: async () => {
        using deadline = startDeadline(this.#deps.clock, endTimeoutMs);
        await abortable(client.end(), deadline.signal).catch(() => {});
        socket.destroy();
      },
    };
  }
}
