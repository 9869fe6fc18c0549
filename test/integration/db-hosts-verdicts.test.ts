import { beforeAll, describe, expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer, type LoadBalancerOptions } from "../../src/db/index.ts";
import { DrivenClock } from "../support/driven-clock.ts";
import { failureOf } from "../support/failure-of.ts";
import { freePort } from "../support/free-port.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { readPort, statusOf } from "../support/reading-servers.ts";
import { startTcpFront } from "../support/tcp-front.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let first: PostgresServer;
let second: PostgresServer;
const mebibyte = 1024 * 1024;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 2 });
  [first, second] = cluster.replicas as [PostgresServer, PostgresServer];
  await cluster.sql(cluster.primary, "CREATE TABLE t (v text)");
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
}, 60_000);

const balancer = (options: Partial<LoadBalancerOptions> = {}): Promise<LoadBalancer> =>
  createLoadBalancer({
    ...patientDatabase,
    primary: cluster.primary.url,
    replicas: [first.url, second.url],
    replicaCheckIntervalMs: 100,
    primaryAttempts: 1,
    ...options,
  });
/** So much log that does not compress, at least. */
const write = (bytes: number) =>
  cluster.sql(cluster.primary, `INSERT INTO t SELECT md5(random()::text) FROM generate_series(1, ${Math.ceil(bytes / 64)})`);

// Case 29, with the default limit of bytes.
test("a replica whose replay stands still goes out when it is late and lacks more than 8 MiB, and comes back with a tenth of its share", async () => {
  await using lb = await balancer({ maxReplicationLagTimeMs: 100, slowStartMs: 1e9, replicaChoice: "random" });
  await allUsable(lb);
  await cluster.sql(first, "SELECT pg_wal_replay_pause()");
  try {
    await write(mebibyte);
    await until(
      "it is late and lacks one",
      () => (statusOf(lb, first)?.lagBytes ?? 0) > mebibyte && (statusOf(lb, first)?.lagSeconds ?? 0) > 0.2,
    );
    expect(statusOf(lb, first)).toMatchObject({ usable: true, reason: "" });
    await write(8 * mebibyte);
    await until("it is out", () => statusOf(lb, first)?.usable === false);
    expect(statusOf(lb, first)).toMatchObject({ role: "replica", reason: "lag" });
    expect(statusOf(lb, first)?.lagBytes).toBeGreaterThan(8 * mebibyte);
    for (let i = 0; i < 20; i++) expect(await readPort(lb)).toBe(second.port);
  } finally {
    await cluster.sql(first, "SELECT pg_wal_replay_resume()");
  }
  await until("it is back", () => statusOf(lb, first)?.usable === true);
  let served = 0;
  for (let i = 0; i < 200; i++) if ((await readPort(lb)) === first.port) served++;
  // A ninth of what the other one gets: 18 of 200, give or take.
  expect(served).toBeGreaterThan(0);
  expect(served).toBeLessThan(50);
}, 60_000);

// Case 30
test("a replica that has replayed no transaction since its start is judged by its bytes: no time is neither zero nor for ever", async () => {
  const replayed = async () => (await cluster.sql(first, "SELECT pg_last_xact_replay_timestamp() AS at"))[0]?.["at"];
  // Its restart begins behind every transaction there is, and nothing reaches it.
  await cluster.caughtUp();
  await cluster.sql(cluster.primary, "CHECKPOINT");
  await cluster.caughtUp();
  await cluster.sql(first, "CHECKPOINT");
  await first.shutDown();
  await first.follow({ ...cluster.primary, port: await freePort() });
  await first.start();
  try {
    expect(await replayed()).toBeNull();
    await using lb = await balancer({ maxReplicationDifferenceBytes: mebibyte });
    await until("it is known and in use", () => statusOf(lb, first)?.lagBytes != null && statusOf(lb, first)?.usable === true);
    expect(statusOf(lb, first)).toMatchObject({ reason: "", lagSeconds: null });
    await write(2 * mebibyte);
    await until("it is out", () => statusOf(lb, first)?.usable === false);
    expect(statusOf(lb, first)).toMatchObject({ reason: "lag", lagSeconds: null });
    expect(await replayed()).toBeNull();
    await first.follow(cluster.primary);
    await until("it is back", () => statusOf(lb, first)?.usable === true);
  } finally {
    await first.follow(cluster.primary);
  }
  await cluster.caughtUp();
}, 60_000);

// Case 28
describe.each(["refuses connections", "takes everything and says nothing"])("while the primary %s", (how) => {
  test("reads wait for nothing: replicas answer them although time stands still", async () => {
    await using front = await startTcpFront(cluster.primary.port);
    await using clock = new DrivenClock();
    await using lb = await createLoadBalancer(
      {
        ...{ primary: `postgres://postgres@127.0.0.1:${front.port}/postgres`, replicas: [first.url, second.url] },
        ...{ probeTimeoutMs: 1000, maxReplicationLagTimeMs: 1, connectTimeoutMs: 30_000, primaryAttempts: 1 },
      },
      { clock },
    );
    await allUsable(lb);
    const session = <T>(work: () => Promise<T>) => lb.session({ stick: [["user", 1]] }, work);
    await session(() => lb.query("INSERT INTO t VALUES ('mine')"));
    await cluster.caughtUp();
    if (how === "refuses connections") await cluster.primary.stop();
    else front.swallow();
    try {
      clock.stepMs = 20;
      await until("its silence is known", () => lb.status[0]?.usable === false);
      await clock.pass(30_000);
      clock.stepMs = 0;
      const replicas = [first.port, second.port];
      const works = [() => readPort(lb), () => session(() => readPort(lb)), () => lb.transaction({ readOnly: true }, () => readPort(lb))];
      for (let i = 0; i < 100; i++) {
        for (const port of await Promise.all(works.map((work) => work()))) expect(replicas).toContain(port);
      }
      clock.stepMs = 2;
      if (how === "refuses connections") {
        expect(await failureOf(lb.query("INSERT INTO t VALUES ('x')"))).toMatchObject({ code: "database_unavailable" });
      }
    } finally {
      clock.stepMs = 2;
      if (how === "refuses connections") await cluster.primary.start();
      front.pass();
    }
  }, 60_000);
});
