import { beforeAll, beforeEach, expect, test } from "vitest";
import { errorClass } from "../../src/db/hosts/error-class.ts";
import { createLoadBalancer, type LoadBalancer } from "../../src/db/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";

// What users of other libraries and proxies reported, on real servers; each test is named by where.

let cluster: PostgresCluster;
let lb: LoadBalancer;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  await cluster.sql(cluster.primary, "CREATE TABLE t (id int PRIMARY KEY, n int DEFAULT 1); CREATE SEQUENCE s");
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await cluster.sql(cluster.primary, "TRUNCATE t; SELECT setval('s', 1, false)");
  await cluster.caughtUp();
  lb = await createLoadBalancer({ ...patientDatabase, primary: cluster.primary.url, replicas: cluster.replicas.map(({ url }) => url) });
  await allUsable(lb);
  return async () => await lb.close();
});

const standby = async () => (await lb.query<{ r: boolean }>("SELECT pg_is_in_recovery() AS r")).rows[0]?.r;

test("pgcat 489: a sequence is advanced on the primary, alone, in a transaction, and where a replica would be tried", async () => {
  const next = async () => (await lb.query<{ n: string }>("SELECT nextval('s') AS n")).rows[0]?.n;
  expect(await next()).toBe("1");
  expect(await lb.transaction(next)).toBe("2");
  expect(await lb.fallbackToReplicasForAmbiguousQueries(next)).toBe("3");
  expect(await lb.useReplicasForReadQueries(next)).toBe("4");
  expect(lb.status.every(({ usable }) => usable)).toBe(true);
});

test("sequelize 14860: an upsert that returns its row is a write, and its session reads on where it wrote", async () => {
  const upsert = "INSERT INTO t (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET n = t.n + 1 RETURNING *";
  await lb.session(async () => {
    expect((await lb.query(upsert, [7])).rows).toEqual([{ id: 7, n: 1 }]);
    expect((await lb.query(upsert, [7])).rows).toEqual([{ id: 7, n: 2 }]);
    expect(await standby()).toBe(false);
  });
});

test("drizzle-orm 6234, authentik 19086: what is read inside a transaction, however deep in asynchronous calls, is read on its connection", async () => {
  const pid = async () => (await lb.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows[0]?.pid;
  const later = async <T>(work: () => Promise<T>) =>
    await new Promise<T>((resolve, reject) => setImmediate(() => void work().then(resolve, reject)));
  await lb.transaction(async (tx) => {
    const own = (await tx.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows[0]?.pid;
    await later(() => lb.query("INSERT INTO t (id) VALUES (1)"));
    expect(await later(async () => (await lb.query("SELECT id FROM t")).rows)).toEqual([{ id: 1 }]);
    expect(await Promise.all([later(pid), later(pid), lb.useReplicasForReadQueries(pid)])).toEqual([own, own, own]);
  });
});

test("pgpool2 155: a text that makes its own transaction writable goes to the primary and leaves nothing behind", async () => {
  await lb.query("BEGIN; SET transaction_read_only = 0; INSERT INTO t (id) VALUES (1); COMMIT");
  expect(await cluster.sql(cluster.primary, "SELECT id FROM t")).toEqual([{ id: 1 }]);
  await lb.query("BEGIN; SET transaction_read_only = 0; COMMIT");
  expect((await lb.usePrimary(() => lb.query("SHOW transaction_read_only"))).rows).toEqual([{ transaction_read_only: "off" }]);
  const inside = lb.transaction({ readOnly: true }, (tx) => tx.query("SET transaction_read_only = 0"));
  expect(await failureOf(inside)).toMatchObject({ code: "write_inside_read_only_transaction" });
});

test("pgdog 334: a transaction that says it only reads runs on a replica, any other on the primary", async () => {
  expect(await lb.transaction({ readOnly: true }, standby)).toBe(true);
  expect(await lb.transaction(standby)).toBe(false);
  for (const text of ["BEGIN READ ONLY", "BEGIN"]) expect(await failureOf(lb.query(text))).toMatchObject({ code: "invalid_argument" });
});

test.each([
  ["postgrest 547", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"],
  ["a stronger isolation", "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT 1"],
  ["a write", "INSERT INTO t (id) VALUES (1)"],
  ["a lock", "SELECT id FROM t FOR SHARE"],
  ["the end of the log", "SELECT pg_current_wal_lsn()"],
])("what a standby refuses for being one is a misroute: %s (%s)", async (_report, text) => {
  const error: unknown = await cluster.sql(cluster.replicas[0] as PostgresServer, text).catch((failure: unknown) => failure);
  expect(errorClass(error)).toBe("misroute");
});
