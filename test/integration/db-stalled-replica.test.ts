import pg from "pg";
import { expect, test } from "vitest";
import { createLoadBalancer } from "../../src/db/index.ts";
import { allUsable } from "../support/patient-database.ts";
import { startPostgresCluster } from "../support/postgres-cluster.ts";
import { until } from "../support/until.ts";

// Report: gitlab 472161, where a replica with a stalled disk answered checks and let every statement run into its time limit.
test("a replica on which statements run into their time limit is left out, although it answers checks", async () => {
  await using cluster = await startPostgresCluster({ replicas: 2 });
  const [first, second] = cluster.replicas;
  if (!first || !second) throw new Error("two replicas were asked for");
  await cluster.sql(cluster.primary, "CREATE TABLE t (id int)");
  await cluster.caughtUp();
  await using lb = await createLoadBalancer({
    primary: cluster.primary.url,
    replicas: [first.url, second.url],
    replicaCheckIntervalMs: 100,
    probeTimeoutMs: 10_000,
    statementTimeoutMs: 2000,
    // On a busy machine the other one is not quick either.
    outlierFactor: 1.2,
  });
  await allUsable(lb);
  // Whoever reads the table on the first replica waits for a lock that the primary's log has put there.
  await cluster.sql(second, "SELECT pg_wal_replay_pause()");
  const holder = new pg.Client({ connectionString: cluster.primary.url });
  await holder.connect();
  await holder.query("BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE");
  // A commit takes what stands before it in the log along.
  await cluster.sql(cluster.primary, "CREATE TABLE other ()");
  await until("the lock is there", async () => {
    const locks = await cluster.sql(first, "SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 't'::regclass");
    return locks.length > 0;
  });
  try {
    const outcomes: string[] = [];
    const read = () =>
      lb.query("SELECT id FROM t").then(
        () => void outcomes.push("read"),
        (error: { code?: string }) => void outcomes.push(error.code ?? "?"),
      );
    await until(
      "it is left out",
      async () => {
        await Promise.all(Array.from({ length: 25 }, read));
        return lb.status.some(({ host, reason }) => host.endsWith(`:${first.port}`) && reason === "outlier");
      },
      60_000,
    );
    expect(new Set(outcomes)).toEqual(new Set(["read", "57014"]));
    const before = outcomes.length;
    await Promise.all(Array.from({ length: 30 }, read));
    expect(new Set(outcomes.slice(before))).toEqual(new Set(["read"]));
  } finally {
    await holder.end();
  }
});
