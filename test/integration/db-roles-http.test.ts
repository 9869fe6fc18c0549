import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeAll, expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer, roleEndpoints } from "../../src/db/index.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let lb: LoadBalancer;
let base: string;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  lb = await createLoadBalancer({
    primary: cluster.primary.url,
    replicas: cluster.replicas.map(({ url }) => url),
    replicaCheckIntervalMs: 50,
  });
  const handle = roleEndpoints(lb);
  const server = createServer((request, response) => {
    if (!handle(request, response)) response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await lb.close();
    await cluster[Symbol.asyncDispose]();
  };
});

const name = ({ port }: PostgresServer) => `127.0.0.1:${port}`;
const statusOf = async (path: string, method = "GET") => (await fetch(`${base}${path}`, { method })).status;
const replica = () => cluster.replicas[0] as PostgresServer;

test("a real primary and a real replica answer by their roles, to every method alike (case 53)", async () => {
  await until("both are known", () => lb.status.every(({ usable }) => usable));
  for (const method of ["GET", "HEAD", "OPTIONS"]) {
    const statuses = (path: string) =>
      Promise.all([cluster.primary, replica()].map((server) => statusOf(`${path}?server=${name(server)}`, method)));
    expect(await statuses("/primary")).toEqual([200, 503]);
    expect(await statuses("/read-write")).toEqual([200, 503]);
    expect(await statuses("/replica")).toEqual([503, 200]);
    expect(await statuses("/read-only")).toEqual([200, 200]);
    expect(await statuses("/health")).toEqual([200, 200]);
  }
  expect(await (await fetch(`${base}/primary`)).json()).toMatchObject({
    server: name(cluster.primary),
    role: "primary",
    in_recovery: false,
  });
  expect(await statusOf("/primary?server=127.0.0.1:1")).toBe(404);
  expect(await statusOf("/replica?lag=much")).toBe(400);
  expect(await statusOf("/primary", "POST")).toBe(405);
  expect(await statusOf("/other")).toBe(404);
});

test("a replica that falls behind fails the limits it exceeds", async () => {
  await cluster.sql(cluster.primary, "CREATE TABLE lagging (text text)");
  await cluster.caughtUp();
  await cluster.sql(replica(), "SELECT pg_wal_replay_pause()");
  try {
    await until("paused", async () => (await cluster.sql(replica(), "SELECT pg_get_wal_replay_pause_state() AS s"))[0]?.["s"] === "paused");
    await cluster.sql(cluster.primary, "INSERT INTO lagging SELECT repeat('x', 100) FROM generate_series(1, 1000)");
    await until("seen as behind", () => (lb.status[1]?.lagBytes ?? 0) > 50_000);
    expect(await statusOf(`/replica?server=${name(replica())}&lag=1kB`)).toBe(503);
    expect(await statusOf(`/replica?server=${name(replica())}&lag=16MB`)).toBe(200);
    expect(await statusOf(`/replica?server=${name(replica())}&lag=1h`)).toBe(200);
  } finally {
    await cluster.sql(replica(), "SELECT pg_wal_replay_resume()");
  }
});

test("a primary whose transactions are read-only is none, although it is not in recovery", async () => {
  await cluster.sql(cluster.primary, "ALTER SYSTEM SET default_transaction_read_only = on");
  await cluster.sql(cluster.primary, "SELECT pg_reload_conf()");
  await until("no primary", async () => (await statusOf("/primary")) === 503);
  const answer = await fetch(`${base}/primary?server=${name(cluster.primary)}`);
  expect(await answer.json()).toMatchObject({ reason: "read_only", in_recovery: false, read_only: true });
  await cluster.sql(cluster.primary, "ALTER SYSTEM RESET default_transaction_read_only");
  await cluster.sql(cluster.primary, "SELECT pg_reload_conf()");
  await until("primary again", async () => (await statusOf("/primary")) === 200);
});

test("after a promotion the old primary's name has lost the role and the new one's has it", async () => {
  await cluster.primary.stop();
  await until("none", async () => (await statusOf(`/primary?server=${name(cluster.primary)}`)) === 503);
  expect(await statusOf(`/replica?server=${name(replica())}`)).toBe(200);
  await replica().promote();
  await until("the new one", async () => (await statusOf(`/primary?server=${name(replica())}`)) === 200);
  expect(await statusOf(`/replica?server=${name(replica())}`)).toBe(503);
});
