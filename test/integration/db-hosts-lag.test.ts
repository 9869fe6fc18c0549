import { beforeAll, expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer, type LoadBalancerOptions } from "../../src/db/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { readPorts, statusOf } from "../support/reading-servers.ts";
import { startTcpFront } from "../support/tcp-front.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let first: PostgresServer;
let second: PostgresServer;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 2 });
  [first, second] = cluster.replicas as [PostgresServer, PostgresServer];
  await cluster.sql(cluster.primary, "CREATE TABLE t (v text)");
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
}, 60_000);

const balancer = (options: Partial<LoadBalancerOptions> = {}): Promise<LoadBalancer> =>
  createLoadBalancer({
    primary: cluster.primary.url,
    replicas: [first.url, second.url],
    replicaCheckIntervalMs: 100,
    probeTimeoutMs: 1000,
    primaryAttempts: 1,
    ...options,
  });

/** Rows that do not compress, 32 characters each. */
const write = (rows = 1) => cluster.sql(cluster.primary, `INSERT INTO t SELECT md5(random()::text) FROM generate_series(1, ${rows})`);

test("a replica that falls behind goes out with the reason, and comes back with a part of its share (case 29)", async () => {
  await using lb = await balancer({ maxReplicationLagTimeMs: 50, maxReplicationDifferenceBytes: 5000 });
  await cluster.sql(first, "SELECT pg_wal_replay_pause()");
  try {
    await write(1000);
    await until("the paused replica is out", () => statusOf(lb, first)?.reason === "lag");
    expect(statusOf(lb, first)).toMatchObject({ role: "replica", usable: false });
    expect(statusOf(lb, first)?.lagBytes).toBeGreaterThan(5000);
    await until("the other one has it", () => statusOf(lb, second)?.usable === true);
    expect(await readPorts(lb)).toEqual(new Set([second.port]));
  } finally {
    await cluster.sql(first, "SELECT pg_wal_replay_resume()");
  }
  await until("it is back", () => statusOf(lb, first)?.usable === true);
  await until("it serves reads", async () => (await readPorts(lb)).has(first.port));
});

test("replicas of an idle primary stay, however old their newest transaction (case 27)", async () => {
  await write();
  await cluster.caughtUp();
  await using lb = await balancer({ maxReplicationLagTimeMs: 100, maxReplicationDifferenceBytes: 100 });
  const old = (server: PostgresServer) => (statusOf(lb, server)?.lagSeconds ?? 0) > 0.5;
  await until("both are five times older than the limit", () => old(first) && old(second));
  expect(lb.status.map(({ usable, reason }) => [usable, reason])).toEqual([
    [true, ""],
    [true, ""],
    [true, ""],
  ]);
});

test("without the primary reads go on, beyond every time limit, and writes fail fast (case 28); a restarted replica is used, too (case 31)", async () => {
  await using lb = await balancer({ maxReplicationLagTimeMs: 100, maxReplicationDifferenceBytes: 100 });
  await write();
  await cluster.caughtUp();
  await cluster.primary.stop();
  try {
    const stale = (server: PostgresServer) =>
      statusOf(lb, server)?.reason === "stale_verdict" && (statusOf(lb, server)?.lagSeconds ?? 0) > 0.5;
    await until("both are judged without the primary", async () => {
      expect(await readPorts(lb)).not.toContain(cluster.primary.port);
      return stale(first) && stale(second);
    });
    expect(await failureOf(lb.query("INSERT INTO t VALUES (1)"))).toMatchObject({ code: "database_unavailable" });
    await first.stop();
    await until("the stopped replica is out", () => statusOf(lb, first)?.usable === false);
    expect(await readPorts(lb)).toEqual(new Set([second.port]));
    await first.start();
    await until("it is back", () => statusOf(lb, first)?.usable === true);
    // It has replayed more than it has received since its start.
    const [row] = await cluster.sql(first, "SELECT coalesce(pg_last_wal_receive_lsn() <= pg_last_wal_replay_lsn(), true) AS fine");
    expect(row).toEqual({ fine: true });
  } finally {
    await cluster.primary.start();
  }
  await until("the primary writes again", () =>
    lb.query("INSERT INTO t VALUES (1)").then(
      () => true,
      () => false,
    ),
  );
});

test("a process that starts while the primary is away uses the replicas", async () => {
  await cluster.primary.stop();
  try {
    await using lb = await balancer();
    expect(await readPorts(lb)).toEqual(new Set([first.port, second.port]));
    expect(statusOf(lb, cluster.primary)).toMatchObject({ role: "primary", usable: false, reason: "connect_failed" });
  } finally {
    await cluster.primary.start();
  }
});

test("a replica that accepts and never answers is out within two checks, and no read waits for it afterwards (case 37)", async () => {
  await using front = await startTcpFront(first.port);
  await using lb = await balancer({ replicas: [`127.0.0.1:${front.port}`, second.url], probeTimeoutMs: 200, replicaCheckIntervalMs: 50 });
  await until("both are in use", () => lb.status.every(({ usable }) => usable));
  front.swallow();
  await until("it is out", () => statusOf(lb, front)?.usable === false, 2000);
  expect(statusOf(lb, front)?.reason).toBe("slow");
  expect(await readPorts(lb)).toEqual(new Set([second.port]));
  front.pass();
  await until("it is back", () => statusOf(lb, front)?.usable === true);
});

// Case 37: while checks have not found it out yet, some reads are on their way to it.
test("reads that wait for a replica when it falls silent are answered by another one, long before a statement's time is over", async () => {
  await using front = await startTcpFront(first.port);
  await using lb = await balancer({ replicas: [`127.0.0.1:${front.port}`, second.url], probeTimeoutMs: 200, connectTimeoutMs: 500 });
  await until("both are in use, and connected to", async () => (await readPorts(lb)).size === 2);
  front.swallow();
  // Of several that are asked at once some go to it.
  const read = async () => (await lb.query<{ port: number }>("SELECT inet_server_port()::int AS port, pg_sleep(0.05)")).rows[0]?.port;
  const startedMs = performance.now();
  const answers = await Promise.all(Array.from({ length: 6 }, read));
  expect(answers).toEqual(Array(6).fill(second.port));
  expect(performance.now() - startedMs).toBeLessThan(15_000);
  expect(statusOf(lb, front)).toMatchObject({ usable: false });
});

test("a check whose backend hangs is asked again on another connection", async () => {
  await using lb = await balancer({ probeTimeoutMs: 200 });
  const backend = async () =>
    (await cluster.sql(first, "SELECT pid FROM pg_stat_activity WHERE application_name = 'gitaly check'"))[0]?.["pid"] as number;
  await until("a check is connected", async () => (await backend()) !== undefined);
  const pid = await backend();
  process.kill(pid, "SIGSTOP");
  try {
    await until("another connection is used", async () => {
      const rows = await cluster.sql(first, `SELECT 1 FROM pg_stat_activity WHERE application_name = 'gitaly check' AND pid <> ${pid}`);
      return rows.length > 0;
    });
    await until("the replica is in use", () => statusOf(lb, first)?.usable === true);
  } finally {
    process.kill(pid, "SIGCONT");
  }
});
