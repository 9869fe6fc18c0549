import { beforeAll, expect, test } from "vitest";
import {
  createLoadBalancer,
  type LoadBalancer,
  type LoadBalancerOptions,
  type OverloadOptions,
  PrimaryShedError,
} from "../../src/db/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  await cluster.sql(cluster.primary, "CREATE TABLE t (id int)");
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
});

/** A balancer whose only replica is away. */
async function alone(options: Partial<Omit<LoadBalancerOptions, "overload">> = {}, overload: Partial<OverloadOptions> = {}) {
  const lb = await createLoadBalancer({ primary: cluster.primary.url, replicas: ["127.0.0.1:1"], poolSize: 4, ...options, overload });
  await until("the replica is out", () => lb.status.some(({ reason }) => reason === "connect_failed"));
  return lb;
}

const read = (lb: LoadBalancer) => lb.query<{ port: number }>("SELECT inet_server_port() AS port");

test("reads beyond the budget are refused with a time to come again, while writes and sticky reads go on (case 50)", async () => {
  await using lb = await alone({}, { fallbackBurst: 5, fallbackMinPerSecond: 0, fallbackShare: 0 });
  const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => read(lb)));
  const refused = outcomes.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  expect(refused).toHaveLength(25);
  for (const error of refused) {
    expect(error).toBeInstanceOf(PrimaryShedError);
    expect(error).toMatchObject({ code: "database_unavailable", reason: "rate" });
    expect(error.retryAfterMs).toBeGreaterThan(0);
  }
  await lb.session(async () => {
    for (let i = 0; i < 10; i++) await lb.query("INSERT INTO t VALUES ($1)", [i]);
    expect((await lb.query("SELECT count(*)::int AS n FROM t")).rows).toEqual([{ n: 10 }]);
  });
  expect(await failureOf(read(lb))).toBeInstanceOf(PrimaryShedError);
});

test("a read-only transaction has its place until it ends, and writers have theirs meanwhile", async () => {
  await using lb = await alone();
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let begun = () => {};
  const running = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const holding = lb.transaction({ readOnly: true }, async (tx) => {
    await tx.query("SELECT 1");
    begun();
    await ended;
  });
  await running;
  expect(await failureOf(read(lb))).toMatchObject({ reason: "slots" });
  await lb.query("INSERT INTO t VALUES (1)");
  end();
  await holding;
  expect((await read(lb)).rows).toEqual([{ port: cluster.primary.port }]);
});

test("without replicas at all, the primary is where reads belong, and nothing is counted", async () => {
  await using lb = await createLoadBalancer({
    primary: cluster.primary.url,
    overload: { fallbackBurst: 0, fallbackShare: 0, fallbackMinPerSecond: 0 },
  });
  expect(await Promise.all(Array.from({ length: 50 }, () => read(lb)))).toHaveLength(50);
});

test("a read that may be stale uses a replica that lags rather than the primary", async () => {
  const replica = cluster.replicas[0] as PostgresServer;
  await cluster.sql(cluster.primary, "INSERT INTO t VALUES (1)");
  await cluster.caughtUp();
  await using lb = await createLoadBalancer({
    primary: cluster.primary.url,
    replicas: [replica.url],
    replicaCheckIntervalMs: 50,
    maxReplicationLagTimeMs: 0,
    maxReplicationDifferenceBytes: 0,
  });
  await cluster.sql(replica, "SELECT pg_wal_replay_pause()");
  try {
    await until("paused", async () => (await cluster.sql(replica, "SELECT pg_get_wal_replay_pause_state() AS s"))[0]?.["s"] === "paused");
    await cluster.sql(cluster.primary, "INSERT INTO t SELECT generate_series(1, 1000)");
    await until("the replica is out", () => lb.status.some(({ role, reason }) => role === "replica" && reason === "lag"));
    const port = async (options: { maxStalenessMs?: number }) =>
      (await lb.query<{ port: number }>("SELECT inet_server_port() AS port", [], options)).rows[0]?.port;
    expect(await port({})).toBe(cluster.primary.port);
    expect(await port({ maxStalenessMs: 3_600_000 })).toBe(replica.port);
    expect(await port({ maxStalenessMs: 0 })).toBe(cluster.primary.port);
  } finally {
    await cluster.sql(replica, "SELECT pg_wal_replay_resume()");
  }
});

test("callers beyond those that may wait for a connection are refused at once", async () => {
  await using lb = await createLoadBalancer({ primary: cluster.primary.url, poolSize: 1, maxQueuedPerServer: 2, connectTimeoutMs: 20_000 });
  const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => lb.query("SELECT pg_sleep(0.2)")));
  const refused = outcomes.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  expect(refused).toHaveLength(2);
  expect(refused[0]).toMatchObject({ code: "database_unavailable", fields: { reason: "overload" } });
});
