import { expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer, type LoadBalancerOptions } from "../../src/db/index.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { startTcpFront, type TcpFront } from "../support/tcp-front.ts";
import { until } from "../support/until.ts";

type Scene = { cluster: PostgresCluster; front: TcpFront; next: PostgresServer } & AsyncDisposable;

/** A primary and its standby, and a name that leads to the primary: a service's endpoint, a virtual address, an alias in DNS. */
async function scene(): Promise<Scene> {
  const cluster = await startPostgresCluster({ replicas: 1 });
  await cluster.sql(cluster.primary, "CREATE TABLE t (id int)");
  await cluster.caughtUp();
  const front = await startTcpFront(cluster.primary.port);
  const next = cluster.replicas[0] as PostgresServer;
  const close = async () => {
    await front[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  };
  return { cluster, front, next, [Symbol.asyncDispose]: close };
}

const balancer = async ({ cluster, front }: Scene, options: Partial<LoadBalancerOptions> = {}): Promise<LoadBalancer> => {
  const primary = cluster.primary.url.replace(`:${cluster.primary.port}/`, `:${front.port}/`);
  const lb = await createLoadBalancer({ primary, probeTimeoutMs: 1000, primaryBackoffMs: 100, ...options });
  await allUsable(lb);
  return lb;
};
const write = async (lb: LoadBalancer, id: number) =>
  (await lb.query<{ port: number }>("INSERT INTO t VALUES ($1) RETURNING inet_server_port()::int AS port", [id])).rows[0]?.port;

// Reports: lido-keys-api 268, where a pool met "read-only" until its process was restarted; pgdog 1494, where an observation outlived a failed check.
test("the primary is demoted under its connections, and its name leads to the new one: no write fails", async () => {
  await using given = await scene();
  const { cluster, front, next } = given;
  // No check comes in time: the statement itself finds out.
  const patient = { ...patientDatabase, primaryAttempts: 50, primaryDeadlineMs: 60_000 };
  await using lb = await balancer(given, { replicaCheckIntervalMs: 3_600_000, ...patient });
  expect(await write(lb, 1)).toBe(cluster.primary.port);
  await cluster.caughtUp();
  await cluster.sql(cluster.primary, "ALTER SYSTEM SET default_transaction_read_only = on");
  await cluster.sql(cluster.primary, "SELECT pg_reload_conf()");
  await next.promote();
  front.lead(next.port);
  for (const id of [2, 3, 4]) expect(await write(lb, id)).toBe(next.port);
  expect(await cluster.sql(next, "SELECT id FROM t ORDER BY id")).toEqual([1, 2, 3, 4].map((id) => ({ id })));
});

// Report: postgresql_exporter 58
test("the primary dies and its name leads to the promoted one: writes go on there, and what replayed last does not count against it", async () => {
  await using given = await scene();
  const { cluster, front, next } = given;
  await using lb = await balancer(given, { replicaCheckIntervalMs: 100, maxReplicationLagTimeMs: 50, replicas: [next.url] });
  expect(await write(lb, 1)).toBe(cluster.primary.port);
  await cluster.primary.shutDown();
  await next.promote();
  front.lead(next.port);
  await until("writes go on", () =>
    write(lb, 2).then(
      () => true,
      () => false,
    ),
  );
  expect(await write(lb, 3)).toBe(next.port);
  // The time of the last replay stands still on a server that replays no more.
  await until("the newest transaction that it replayed is old", async () => {
    const rows = await cluster.sql(next, "SELECT coalesce(now() - pg_last_xact_replay_timestamp() > '300ms', true) AS old");
    return rows[0]?.["old"] === true;
  });
  await until("it has been asked since", () => lb.status.every(({ checkedMsAgo }) => (checkedMsAgo ?? 1e9) < 250));
  const primary = lb.status.find(({ role }) => role === "primary");
  expect(primary).toMatchObject({ usable: true, lagSeconds: null, inRecovery: false });
  expect((await lb.query("SELECT count(*)::int AS n FROM t WHERE id IN (1, 3)")).rows).toEqual([{ n: 2 }]);
});
