import { beforeAll, expect, test } from "vitest";
import { createLoadBalancer } from "../../src/db/index.ts";
import { createMetrics } from "../../src/observability/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let metrics: ReturnType<typeof createMetrics>;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 2 });
  await cluster.sql(cluster.primary, "CREATE TABLE t (id int)");
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
}, 60_000);

async function balancer() {
  metrics = createMetrics();
  const lb = await createLoadBalancer(
    { ...patientDatabase, primary: cluster.primary.url, replicas: cluster.replicas.map(({ url }) => url) },
    { metrics },
  );
  await allUsable(lb);
  return lb;
}

const backend = async (server: PostgresServer, where: string) =>
  (await cluster.sql(server, `SELECT pid, state FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND ${where}`))[0];
const active = "state = 'active' AND query LIKE '%pg_sleep(2)%'";

// Case 32: the ERROR.
test("a read that recovery cancels is answered by the other replica, and its connection goes on", async () => {
  await using lb = await balancer();
  await cluster.sql(cluster.primary, "INSERT INTO t SELECT generate_series(1, 100)");
  await cluster.caughtUp();
  const running = lb.query<{ port: number; n: number }>("SELECT inet_server_port()::int AS port, count(*)::int AS n, pg_sleep(2) FROM t");
  let struck: PostgresServer | undefined;
  await until("it runs on a replica", async () => {
    for (const replica of cluster.replicas) if (await backend(replica, active)) struck = replica;
    return struck !== undefined;
  });
  const replica = struck as PostgresServer;
  const before = await backend(replica, active);
  await cluster.sql(cluster.primary, "DELETE FROM t");
  await cluster.sql(cluster.primary, "VACUUM t");
  const other = cluster.replicas.find((one) => one !== replica);
  expect((await running).rows).toMatchObject([{ port: other?.port, n: 0 }]);
  expect(await backend(replica, `pid = ${before?.["pid"]}`)).toMatchObject({ state: "idle" });
  expect(await metrics.expose()).toContain(`dblb_errors_total{host="127.0.0.1:${replica.port}",class="conflict"} 1\n`);
  expect(lb.status.every(({ usable }) => usable)).toBe(true);
});

// Case 32: the FATAL.
test("a connection that recovery ends fails the transaction on it alone, and nobody is given it afterwards", async () => {
  await using lb = await balancer();
  const read = "SELECT inet_server_port()::int AS port, pg_backend_pid() AS pid";
  let ended: { port: number; pid: number } | undefined;
  const failure = await failureOf(
    lb.transaction({ readOnly: true }, async (tx) => {
      ended = (await tx.query<{ port: number; pid: number }>(`${read}, (SELECT count(*) FROM t)`)).rows[0];
      const server = cluster.replicas.find(({ port }) => port === ended?.port) as PostgresServer;
      await cluster.sql(cluster.primary, "TRUNCATE t");
      await until("the backend is gone", async () => (await backend(server, `pid = ${ended?.pid}`)) === undefined);
      await tx.query("SELECT 1");
    }),
  );
  expect(failure).toMatchObject({ code: "database_unavailable" });
  const answers = await Promise.all(Array.from({ length: 20 }, () => lb.query<{ port: number; pid: number }>(read)));
  expect(new Set(answers.map(({ rows }) => rows[0]?.port))).toEqual(new Set(cluster.replicas.map(({ port }) => port)));
  expect(answers.map(({ rows }) => rows[0])).not.toContainEqual(ended);
  expect(await metrics.expose()).not.toContain("dblb_errors_total{");
  expect(lb.status.every(({ usable }) => usable)).toBe(true);
});
