import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer, type TransactionHandle } from "../../src/db/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";

let cluster: PostgresCluster;
let lb: LoadBalancer;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  await cluster.sql(
    cluster.primary,
    `CREATE TABLE t (id int);
     CREATE SEQUENCE s;
     CREATE FUNCTION writes(n int) RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (n) RETURNING id';
     CREATE FUNCTION reads(n int) RETURNS int LANGUAGE sql AS 'SELECT n';
     CREATE VIEW writing_view AS SELECT writes(1) AS n;`,
  );
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await cluster.sql(cluster.primary, "TRUNCATE t");
  await cluster.caughtUp();
  lb = await createLoadBalancer({ ...patientDatabase, primary: cluster.primary.url, replicas: cluster.replicas.map(({ url }) => url) });
  await allUsable(lb);
  return async () => await lb.close();
});

const stored = async () => (await cluster.sql(cluster.primary, "SELECT id FROM t ORDER BY id")).map((row) => row["id"]);
const standbyIn = async (tx: Pick<TransactionHandle, "query">) => (await tx.query("SELECT pg_is_in_recovery() AS r")).rows[0]?.["r"];

type Work = (tx: TransactionHandle) => Promise<unknown>;
/** Where a transaction that only reads may run, and whether that is a standby. */
const places: readonly [where: string, standby: boolean, run: (work: Work) => Promise<unknown>][] = [
  ["on a replica", true, (work) => lb.transaction({ readOnly: true }, work)],
  ["on the primary", false, (work) => lb.usePrimary(() => lb.transaction({ readOnly: true }, work))],
  ["on a connection of one's own", false, (work) => lb.connection(() => lb.transaction({ readOnly: true }, work))],
  ["inside one that writes", false, (work) => lb.transaction(() => lb.transaction({ readOnly: true }, work))],
  ["in a block that refuses writes", true, (work) => lb.useReplicasForReadQueries({ onWrite: "throw" }, () => lb.transaction(work))],
];
const refused = { code: "write_inside_read_only_transaction" };

// Cases 12, 23: whatever the text looks like, and whether it comes first or later.
describe.each(places)("a transaction that only reads, %s", (_where, standby, run) => {
  test.each([
    "INSERT INTO t VALUES (1)",
    "SELECT nextval('s')",
    "SELECT pg_advisory_lock(1)",
    "SELECT id FROM t FOR UPDATE",
    "SELECT writes(9)",
    "SELECT n FROM writing_view",
    "DO $$ BEGIN INSERT INTO t VALUES (1); END $$",
    "SET transaction_read_only = 0",
    "SET LOCAL transaction_read_only TO off",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    "SELECT 1; SET transaction_read_only = 0; INSERT INTO t VALUES (1)",
  ])("refuses %s, first or later, and nothing is written", async (text) => {
    expect(await failureOf(run((tx) => tx.query(text)))).toMatchObject(refused);
    const later = run(async (tx) => {
      expect(await standbyIn(tx)).toBe(standby);
      await tx.query(text);
    });
    expect(await failureOf(later)).toMatchObject(refused);
    expect(await stored()).toEqual([]);
    expect(lb.status.map(({ usable }) => usable)).toEqual([true, true]);
  });

  test("cannot be made writable by a function", async () => {
    const made = run(async (tx) => {
      await tx.query("SELECT set_config('transaction_read_only', 'off', true)");
      await tx.query("SELECT writes(9)");
    });
    await expect(made).rejects.toThrow(/read-write mode|a block that only reads/);
    expect(await stored()).toEqual([]);
  });
});

// Case 23
test("a transaction that only reads, inside one that writes, leaves that one as it was", async () => {
  await lb.transaction(async (tx) => {
    await tx.query("INSERT INTO t VALUES (1)");
    expect(await failureOf(lb.transaction({ readOnly: true }, (inner) => inner.query("SELECT writes(2)")))).toMatchObject(refused);
    await lb.transaction({ readOnly: true }, async (inner) => void (await inner.query("SELECT id FROM t")));
    await lb.transaction({ readOnly: true }, async () => {
      expect(await failureOf(lb.transaction((inner) => inner.query("SELECT writes(3)")))).toMatchObject(refused);
    });
    expect((await tx.query("SELECT writes(4) AS n")).rows).toEqual([{ n: 4 }]);
  });
  expect(await stored()).toEqual([1, 4]);
});

test.each(["INSERT INTO t VALUES (1)", "SELECT writes(1)", "DO $$ BEGIN INSERT INTO t VALUES (1); END $$"])(
  "a block that refuses writes refuses %s, inside a transaction and a connection, too",
  async (text) => {
    const block = () => failureOf(lb.useReplicasForReadQueries({ onWrite: "throw" }, () => lb.query(text)));
    expect(await block()).toMatchObject(refused);
    await lb.transaction(async (tx) => {
      expect(await block()).toMatchObject(refused);
      await tx.query("INSERT INTO t VALUES (2)");
    });
    await lb.connection(async (connection) => {
      expect(await block()).toMatchObject(refused);
      await connection.query("INSERT INTO t VALUES (3)");
    });
    expect(await stored()).toEqual([2, 3]);
  },
);

test("a block that refuses writes refuses what the text does not show on the primary as well, where no replica may be used", async () => {
  await using alone = await createLoadBalancer({ ...patientDatabase, primary: cluster.primary.url });
  await allUsable(alone);
  const block = (text: string) => alone.useReplicasForReadQueries({ onWrite: "throw" }, () => alone.query(text));
  expect(await failureOf(block("SELECT n FROM writing_view"))).toMatchObject(refused);
  expect(await stored()).toEqual([]);
  expect(await block("SELECT count(*)::int AS n FROM t")).toMatchObject({ rows: [{ n: 0 }] });
  await expect(block("SELECT nothing FROM t")).rejects.toMatchObject({ code: "42703" });
  expect(await block("SELECT current_setting('transaction_read_only') AS ro")).toMatchObject({ rows: [{ ro: "on" }] });
  expect(await alone.query("SELECT current_setting('transaction_read_only') AS ro")).toMatchObject({ rows: [{ ro: "off" }] });
});

test("a block that refuses writes still runs what only reads, whatever it is called", async () => {
  await lb.useReplicasForReadQueries({ onWrite: "throw" }, async () => {
    const { rows } = await lb.query("SELECT reads(7) AS n, pg_is_in_recovery() AS r");
    expect(rows).toEqual([{ n: 7, r: true }]);
    expect(await lb.transaction(() => lb.query("SELECT reads(8) AS n"))).toMatchObject({ rows: [{ n: 8 }] });
  });
});

test("a connection goes on after a transaction on it whose first statement the server cancelled", async () => {
  await lb.connection(async (connection) => {
    const cancelled = lb.transaction((tx) => tx.query("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$"));
    await expect(cancelled).rejects.toMatchObject({ code: "40001" });
    await connection.query("INSERT INTO t VALUES (1)");
  });
  expect(await stored()).toEqual([1]);
});
