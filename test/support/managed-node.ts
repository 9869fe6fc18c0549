import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";

/** A PostgreSQL server that a failover manager looks after. */
export interface ManagedNode {
  readonly name: string;
  readonly port: number;
  /** URL of the database `app`, as superuser. */
  readonly url: string;
  /** Kills the server alone; its manager starts it again, or has another one promoted. */
  killServer(): void;
  /** Kills the server and its manager, as the loss of their machine would. */
  kill(): void;
  /** Starts what was killed. */
  start(): void;
}

/** Kills the server of a data directory, and nothing else. */
export function killPostmaster(dataDir: string): void {
  const [pid] = readFileSync(join(dataDir, "postmaster.pid"), "latin1").split("\n");
  process.kill(Number(pid), "SIGKILL");
}

/** One statement on a connection of its own. */
export async function askOnce(url: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000, query_timeout: 10_000 });
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.query(text, values)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Whether one of the servers accepts writes, and its commits wait for a standby that streams. */
export async function isReplicated(nodes: readonly ManagedNode[]): Promise<boolean> {
  const answers = await Promise.all(
    nodes.map(({ url }) =>
      askOnce(
        url,
        `SELECT current_setting('transaction_read_only') = 'off' AS writable, current_setting('synchronous_standby_names') <> '' AS waits,
           (SELECT count(*)::int FROM pg_stat_replication WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum')) AS standbys`,
      ).catch(() => []),
    ),
  );
  const writable = answers.flat().filter((row) => row["writable"] === true);
  return (
    answers.every((rows) => rows.length === 1) &&
    writable.length === 1 &&
    writable[0]?.["waits"] === true &&
    writable[0]?.["standbys"] === 1
  );
}
