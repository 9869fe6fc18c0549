import type { PostgresCluster, PostgresServer } from "./postgres-cluster.ts";

/** Stops replay on some replicas while `work` runs; afterwards they have caught up. */
export async function replayPaused(cluster: PostgresCluster, servers: readonly PostgresServer[], work: () => Promise<void>): Promise<void> {
  for (const server of servers) await cluster.sql(server, "SELECT pg_wal_replay_pause()");
  try {
    await work();
  } finally {
    for (const server of servers) await cluster.sql(server, "SELECT pg_wal_replay_resume()");
    await cluster.caughtUp();
  }
}
