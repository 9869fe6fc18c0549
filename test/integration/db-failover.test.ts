import { createServer, type Socket } from "node:net";
import { inspect } from "node:util";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { CodedError } from "../../src/base/index.ts";
import { createLoadBalancer, type LoadBalancer, type LoadBalancerOptions } from "../../src/db/index.ts";
import { createMetrics, type MetricsRegistry } from "../../src/observability/index.ts";
import { failureOf } from "../support/failure-of.ts";
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

beforeEach(async () => {
  await cluster.sql(cluster.primary, "TRUNCATE t");
  await cluster.caughtUp();
});

type Tested = { lb: LoadBalancer; metrics: MetricsRegistry } & AsyncDisposable;

async function balancer(options: Partial<LoadBalancerOptions> = {}): Promise<Tested> {
  const metrics = createMetrics();
  const lb = await createLoadBalancer(
    { primary: cluster.primary.url, replicas: [replica.url], replicaCheckIntervalMs: 50, primaryBackoffMs: 20, ...options },
    { metrics },
  );
  return { lb, metrics, [Symbol.asyncDispose]: () => lb.close() };
}

const standby = async (lb: LoadBalancer) =>
  (await lb.query<{ standby: boolean }>("SELECT pg_is_in_recovery() AS standby")).rows[0]?.standby;
/** Ends the backends that the load balancer has on a server. */
const terminate = (server: PostgresServer, state = "%") =>
  cluster.sql(server, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gitaly' AND state LIKE '${state}'`);

/** The same, and waits until they are gone: the client has then heard of it. */
const terminateAll = async (server: PostgresServer) => {
  await terminate(server);
  const count = () => cluster.sql(server, "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'gitaly'");
  await until("no backend is left", async () => (await count())[0]?.["n"] === 0);
};

test("a replica that crashes costs no read, and is used again when it is back (B129)", async () => {
  await using tested = await balancer();
  const { lb } = tested;
  expect(await standby(lb)).toBe(true);
  await replica.stop();
  try {
    const answers = await Promise.all(Array.from({ length: 20 }, () => standby(lb)));
    expect(new Set(answers)).toEqual(new Set([false]));
    expect(lb.status[1]).toMatchObject({ usable: false });
  } finally {
    await replica.start();
  }
  await until("the replica reads again", () => standby(lb).then((answer) => answer === true));
});

test("a replica that refuses connections is tried by no read (B126)", async () => {
  await using tested = await balancer({ replicas: ["127.0.0.1:1"], replicaCheckIntervalMs: 60_000 });
  for (let i = 0; i < 5; i++) expect(await standby(tested.lb)).toBe(false);
  expect(tested.lb.status[1]).toMatchObject({ usable: false, reason: "connect_failed" });
  expect(await tested.metrics.expose()).not.toContain('dblb_errors_total{host="127.0.0.1:1"');
});

test("a replica that swallows connections is waited for once (B127)", async () => {
  const sockets = new Set<Socket>();
  const hole = createServer((socket) => sockets.add(socket));
  await new Promise<void>((resolve) => hole.listen(0, "127.0.0.1", resolve));
  const { port } = hole.address() as { port: number };
  try {
    await using tested = await balancer({ replicas: [`127.0.0.1:${port}`], connectTimeoutMs: 200, replicaCheckIntervalMs: 60_000 });
    for (let i = 0; i < 20; i++) expect(await standby(tested.lb)).toBe(false);
    expect(sockets.size).toBe(1);
    expect(tested.lb.status[1]).toMatchObject({ usable: false });
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => hole.close(resolve));
  }
});

test("the end of idle connections goes unnoticed by callers (B133, B134)", async () => {
  await using tested = await balancer();
  const { lb } = tested;
  for (let round = 0; round < 5; round++) {
    expect(await standby(lb)).toBe(true);
    expect((await lb.query("INSERT INTO t VALUES ($1) RETURNING id", [round])).rows).toEqual([{ id: round }]);
    await Promise.all([terminateAll(cluster.primary), terminateAll(replica)]);
  }
  // The read does not even have to wait for the news to arrive.
  await standby(lb);
  await terminate(replica);
  expect(await standby(lb)).toBe(true);
  expect((await lb.query("INSERT INTO t VALUES (2) RETURNING id")).rows).toEqual([{ id: 2 }]);
});

test("a connection that ends while a transaction holds it idle fails that transaction alone (B133)", async () => {
  await using tested = await balancer();
  const { lb } = tested;
  const failure = await failureOf(
    lb.transaction(async (tx) => {
      await tx.query("INSERT INTO t VALUES (1)");
      await terminate(cluster.primary, "idle in transaction");
      await failureOf(tx.query("INSERT INTO t VALUES (2)"));
      await tx.query("INSERT INTO t VALUES (3)");
    }),
  );
  expect(failure.code).toBe("database_unavailable");
  expect((await lb.query("INSERT INTO t VALUES (4) RETURNING id")).rows).toEqual([{ id: 4 }]);
  expect(await cluster.sql(cluster.primary, "SELECT id FROM t")).toEqual([{ id: 4 }]);
});

test("a write whose connection is lost is not repeated: its outcome is called unknown", async () => {
  await using tested = await balancer();
  const running = failureOf(tested.lb.query("INSERT INTO t SELECT 1 FROM pg_sleep(30)"));
  await until("the statement runs", () => terminate(cluster.primary, "active").then((rows) => rows.length > 0));
  expect((await running).code).toBe("outcome_unknown");
  expect(await cluster.sql(cluster.primary, "SELECT id FROM t")).toEqual([]);
});

test("a read that recovery cancels is tried again (B135)", async () => {
  await using tested = await balancer();
  await cluster.sql(cluster.primary, "INSERT INTO t SELECT generate_series(1, 100)");
  await cluster.caughtUp();
  const running = tested.lb.query("SELECT count(*)::int AS n, pg_sleep(2) FROM t");
  await until("the statement runs on the replica", () =>
    cluster
      .sql(replica, "SELECT 1 FROM pg_stat_activity WHERE application_name = 'gitaly' AND state = 'active'")
      .then((rows) => rows.length > 0),
  );
  await cluster.sql(cluster.primary, "DELETE FROM t");
  await cluster.sql(cluster.primary, "VACUUM t");
  expect((await running).rows).toMatchObject([{ n: 0 }]);
  expect(await tested.metrics.expose()).toMatch(/dblb_errors_total\{host="127.0.0.1:\d+",class="conflict"\} [1-3]\n/);
  expect(tested.lb.status.every((host) => host.usable)).toBe(true);
});

test("statements that take too long are cancelled by the server, and the connection goes on", async () => {
  await using tested = await balancer({ statementTimeoutMs: 100 });
  await expect(tested.lb.query("SELECT pg_sleep(30)")).rejects.toMatchObject({ code: "57014" });
  expect(await standby(tested.lb)).toBe(true);
});

test("without the primary, reads go on and writes say so at once; no error shows the password", async () => {
  const secret = "hunter2secret";
  await using tested = await balancer({ primary: `postgres://u:${secret}@127.0.0.1:1/x` });
  expect(await standby(tested.lb)).toBe(true);
  const failure = await failureOf(tested.lb.query("INSERT INTO t VALUES (1)"));
  expect(failure).toMatchObject({ code: "database_unavailable", retryAfterMs: 1000 });
  expect(inspect(failure, { depth: 20 })).not.toContain(secret);
});

test("more callers than connections wait, and are told when it takes too long", async () => {
  await using tested = await balancer({ poolSize: 1, connectTimeoutMs: 200, replicas: [], primaryAttempts: 1 });
  const busy = tested.lb.query("SELECT pg_sleep(1)");
  const failure = await failureOf(tested.lb.query("SELECT 1"));
  expect(failure).toMatchObject({ code: "database_unavailable", fields: { reason: "overload" } });
  await busy;
  await expect(tested.lb.query("SELECT 1")).resolves.toBeDefined();
});

test("closing waits for what runs, begins nothing new, and can be hurried", async () => {
  await using tested = await balancer();
  const slow = tested.lb.transaction(async (tx) => {
    await tx.query("SELECT pg_sleep(0.2)");
    return (await tested.lb.query("INSERT INTO t VALUES (9) RETURNING id")).rows;
  });
  const closed = tested.lb.close();
  expect((await failureOf(tested.lb.query("SELECT 1"))).code).toBe("failed_precondition");
  expect(await slow).toEqual([{ id: 9 }]);
  await closed;

  await using other = await balancer();
  const hanging = other.lb.query("SELECT pg_sleep(60)").catch((error: unknown) => error);
  await until("the statement runs there", () =>
    cluster
      .sql(replica, "SELECT 1 FROM pg_stat_activity WHERE application_name = 'gitaly' AND state = 'active'")
      .then((rows) => rows.length > 0),
  );
  await other.lb.destroy();
  expect(CodedError.is(await hanging, "failed_precondition")).toBe(true);
});
