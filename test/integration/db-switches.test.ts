import { beforeAll, expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer, Switches } from "../../src/db/index.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let replica: PostgresServer;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  replica = cluster.replicas[0] as PostgresServer;
  await cluster.sql(cluster.primary, "CREATE TABLE t (id int)");
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
});

const standby = async (lb: LoadBalancer) => (await lb.query<{ r: boolean }>("SELECT pg_is_in_recovery() AS r")).rows[0]?.r;

test("reads leave the replicas and return while the load balancer runs, by what the process does", async () => {
  const options = { primary: cluster.primary.url, replicas: [replica.url] };
  await using web = await createLoadBalancer(options);
  await using job = await createLoadBalancer({ ...options, processRole: "job" });
  for (const lb of [web, job]) lb.switches.set("replicaReads", { job: false });
  expect([await standby(web), await standby(job)]).toEqual([true, false]);
  expect(await job.transaction({ readOnly: true }, () => standby(job))).toBe(false);
  expect(await job.fallbackToReplicasForAmbiguousQueries(() => job.transaction(() => standby(job)))).toBe(false);
  job.switches.set("replicaReads", true);
  expect([await standby(web), await standby(job)]).toEqual([true, true]);
});

test("the limit of lag by time is lifted and comes back at the next check", async () => {
  const switches = new Switches({}, "web");
  await using lb = await createLoadBalancer({
    primary: cluster.primary.url,
    replicas: [replica.url],
    replicaCheckIntervalMs: 50,
    maxReplicationLagTimeMs: 1,
    maxReplicationDifferenceBytes: 1,
    switches,
  });
  await cluster.sql(replica, "SELECT pg_wal_replay_pause()");
  try {
    await cluster.sql(cluster.primary, "INSERT INTO t SELECT generate_series(1, 100)");
    await until("the replica is too late", async () => !(await standby(lb)));
    expect(lb.status[1]).toMatchObject({ usable: false, reason: "lag" });
    switches.set("ignoreReplicationLagTime", true);
    await until("the replica is back", async () => (await standby(lb)) === true);
    switches.set("ignoreReplicationLagTime", false);
    await until("the replica is too late again", async () => !(await standby(lb)));
  } finally {
    await cluster.sql(replica, "SELECT pg_wal_replay_resume()");
  }
});
