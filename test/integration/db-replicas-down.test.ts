import { beforeAll, expect, test } from "vitest";
import { createLoadBalancer } from "../../src/db/index.ts";
import { createMetrics } from "../../src/observability/index.ts";
import { allUsable } from "../support/patient-database.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { readPort, readPorts } from "../support/reading-servers.ts";
import { startTcpFront } from "../support/tcp-front.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let first: PostgresServer;
let second: PostgresServer;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 2 });
  [first, second] = cluster.replicas as [PostgresServer, PostgresServer];
  return async () => await cluster[Symbol.asyncDispose]();
}, 60_000);

test("a replica that begins to refuse connections fails one read, unseen by its caller, and is tried by no other (B126)", async () => {
  const metrics = createMetrics();
  const front = await startTcpFront(first.port);
  const name = `127.0.0.1:${front.port}`;
  try {
    await using lb = await createLoadBalancer(
      { primary: cluster.primary.url, replicas: [name, second.url], replicaCheckIntervalMs: 3_600_000, probeTimeoutMs: 5000 },
      { metrics },
    );
    await allUsable(lb);
    await until("both serve reads", async () => (await readPorts(lb)).size === 2);
    await front[Symbol.asyncDispose]();
    const status = () => lb.status.find(({ host }) => host === name);
    // At first it is avoided, since its connections were lost; the first read that tries it finds out.
    await until("it is known to be down", async () => {
      expect(await readPort(lb)).toBe(second.port);
      return status()?.usable === false;
    });
    for (let i = 0; i < 30; i++) expect(await readPort(lb)).toBe(second.port);
    expect(status()).toMatchObject({ usable: false, reason: "connect_failed" });
    const errors = (await metrics.expose()).split("\n").filter((line) => line.startsWith(`dblb_errors_total{host="${name}"`));
    expect(errors).toContain(`dblb_errors_total{host="${name}",class="connect_failed"} 1`);
    // The same read may have met a connection whose end was not known yet.
    expect(errors.filter((line) => !line.endsWith('class="lost"} 1'))).toHaveLength(1);
  } finally {
    await front[Symbol.asyncDispose]();
  }
});

// Report: sequelize 7180
test("while all replicas are down reads go to the primary, and soon after they are back to the replicas again (B129)", async () => {
  await using lb = await createLoadBalancer({
    primary: cluster.primary.url,
    replicas: [first.url, second.url],
    probeTimeoutMs: 1000,
    overload: { fallbackShare: 1, fallbackSlotShare: 1 },
  });
  await allUsable(lb);
  expect((await readPorts(lb)).has(cluster.primary.port)).toBe(false);
  await Promise.all([first.stop(), second.stop()]);
  try {
    for (let i = 0; i < 10; i++) expect(await readPort(lb)).toBe(cluster.primary.port);
  } finally {
    await Promise.all([first.start(), second.start()]);
  }
  // With checks every two seconds, of which two must pass.
  await until("both serve reads again", async () => (await readPorts(lb)).size === 2, 15_000);
  expect((await readPorts(lb)).has(cluster.primary.port)).toBe(false);
});
