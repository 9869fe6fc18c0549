import { beforeAll, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../src/base/index.ts";
import { createLoadBalancer, type GivenLoadBalancerOptions, type LoadBalancer } from "../../src/db/index.ts";
import { MemoryStickingStore } from "../../src/db/sticking/memory-sticking-store.ts";
import { allUsable, patientDatabase, patientSticking } from "../support/patient-database.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";

let cluster: PostgresCluster;
let replica: PostgresServer;
/** Stands for a store that outlives the processes. */
let store: MemoryStickingStore;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  replica = cluster.replicas[0] as PostgresServer;
  await cluster.sql(cluster.primary, "CREATE TABLE t (v int)");
  return async () => await cluster[Symbol.asyncDispose]();
});

beforeEach(async () => {
  store = new MemoryStickingStore({ expirationMs: 600_000 }, { clock: systemClock });
  await cluster.sql(cluster.primary, "TRUNCATE t");
  await cluster.caughtUp();
  await cluster.sql(replica, "SELECT pg_wal_replay_pause()");
  return async () => await cluster.sql(replica, "SELECT pg_wal_replay_resume()");
});

/** A process that shares the store. */
async function started(more: Partial<GivenLoadBalancerOptions>): Promise<LoadBalancer> {
  const lb = await createLoadBalancer({
    ...patientDatabase,
    primary: cluster.primary.url,
    sticking: { ...patientSticking, store },
    ...more,
  });
  await allUsable(lb);
  return lb;
}

const stick = { stick: [["user", 1]] } as const;
const write = (lb: LoadBalancer) => lb.session(stick, () => lb.query("INSERT INTO t VALUES (1)"));
const read = async (lb: LoadBalancer) => (await lb.query<{ n: number }>("SELECT count(*)::int AS n FROM t")).rows[0]?.n;

test("what a process wrote is seen by sessions and jobs of one that started after its end", async () => {
  const writer = await started({ replicas: [replica.url] });
  await write(writer);
  const captured = await writer.capture();
  await writer.close();
  await using worker = await started({ replicas: [replica.url] });
  expect(await worker.session(() => read(worker))).toBe(0);
  expect(await worker.session(stick, () => read(worker))).toBe(1);
  const job = await worker.checkJob(JSON.parse(JSON.stringify(captured)), { profile: "high" });
  expect(job.strategy).toBe("primary");
  expect(await worker.session({ job }, () => read(worker))).toBe(1);
});

test("what a process wrote before it found any replica is seen by those that have found them", async () => {
  const lookup = () => Promise.reject(new Error("nobody answers"));
  await using writer = await started({ discovery: { source: { name: "silent", lookup } } });
  await write(writer);
  expect(await writer.capture()).toEqual({});
  await using reader = await started({ replicas: [replica.url] });
  expect(await reader.session(() => read(reader))).toBe(0);
  expect(await reader.session(stick, () => read(reader))).toBe(1);
  // A job without positions reads from the primary.
  const job = await reader.checkJob({});
  expect(await reader.session({ job }, () => read(reader))).toBe(1);
});
