import { expect, test } from "vitest";
import { type Clock, systemClock } from "../../src/base/index.ts";
import { createLoadBalancer } from "../../src/db/index.ts";
import { type Metrics, noMetrics } from "../../src/observability/index.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { readPorts } from "../support/reading-servers.ts";
import { startTcpFront } from "../support/tcp-front.ts";
import { until } from "../support/until.ts";

test("reads that begin just after a replica has lost connections go to another one first", async () => {
  await using cluster = await startPostgresCluster({ replicas: 2 });
  const [first, second] = cluster.replicas as [PostgresServer, PostgresServer];
  await using front = await startTcpFront(first.port);
  // Time stands still once the connections are lost: what is "just after" does not depend on how busy the machine is.
  let stoodStillAtMs: number | undefined;
  const clock: Clock = { ...systemClock, monotonic: () => stoodStillAtMs ?? systemClock.monotonic() };
  const failures: string[] = [];
  const metrics: Metrics = {
    ...noMetrics,
    counter: (name) => ({
      add: (_amount, labels) => {
        if (name === "dblb_errors_total") failures.push(String(labels?.["class"]));
      },
    }),
  };
  const replicas = [`127.0.0.1:${front.port}`, second.url];
  await using lb = await createLoadBalancer(
    { ...patientDatabase, primary: cluster.primary.url, replicas, poolSize: 8 },
    { clock, metrics },
  );
  await allUsable(lb);
  const ports = () => readPorts(lb, 8);
  expect(await ports()).toEqual(new Set([first.port, second.port]));

  // Long enough for a busy machine to see them run.
  const slowRead = async () => (await lb.query<{ port: number }>("SELECT inet_server_port() AS port, pg_sleep(3)")).rows[0]?.port;
  const running = Promise.all(Array.from({ length: 8 }, slowRead));
  const sleeping = "SELECT FROM pg_stat_activity WHERE query LIKE '%sleep(3)' AND state = 'active'";
  const countOn = async (server: PostgresServer) => (await cluster.sql(server, sleeping)).length;
  await until("all of them run", async () => (await countOn(first)) + (await countOn(second)) === 8);
  front.refuse(Number.POSITIVE_INFINITY);
  stoodStillAtMs = systemClock.monotonic();
  front.cut();
  expect(new Set(await running)).toEqual(new Set([second.port]));
  expect(failures.length).toBeGreaterThan(1);
  expect(new Set(failures)).toEqual(new Set(["lost"]));
  failures.length = 0;
  expect(await ports()).toEqual(new Set([second.port]));
  expect(failures).toEqual([]);
  front.refuse(0);
  stoodStillAtMs += 249;
  expect(await ports()).toEqual(new Set([second.port]));
  stoodStillAtMs += 1;
  expect(await ports()).toEqual(new Set([first.port, second.port]));
});
