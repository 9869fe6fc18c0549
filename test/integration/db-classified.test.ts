import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer } from "../../src/db/index.ts";
import { createMetrics } from "../../src/observability/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";

let cluster: PostgresCluster;
let replica: PostgresServer;
let lb: LoadBalancer;
let metrics = createMetrics();

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  [replica] = cluster.replicas as [PostgresServer];
  await cluster.sql(cluster.primary, 'CREATE TABLE t (a int); CREATE TABLE words ("nextval" int, "update" int); CREATE SEQUENCE s');
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
});

beforeEach(async () => {
  metrics = createMetrics();
  await cluster.sql(cluster.primary, "DROP TABLE IF EXISTS n; TRUNCATE t; INSERT INTO t VALUES (1), (2)");
  await cluster.caughtUp();
  lb = await createLoadBalancer({ ...patientDatabase, primary: cluster.primary.url, replicas: [replica.url] }, { metrics });
  await allUsable(lb);
  return async () => await lb.close();
});

const standby = async () => (await lb.query("SELECT pg_is_in_recovery() AS r")).rows[0]?.["r"];
/** The counters of statements and of servers' errors that are not zero. */
const counted = async () => (await metrics.expose()).split("\n").filter((line) => /^dblb_(reads|writes|errors)_total\{.* [1-9]/.test(line));

describe("what is proven to read is answered by a standby", () => {
  test.each([
    "SELECT a FROM t WHERE a = 1",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT * FROM r",
    "SELECT 'nextval(1)', \"nextval\" FROM words", // case 4
    'SELECT "update" FROM words AS "insert" /* FOR UPDATE */ -- ; DELETE FROM t',
    "EXPLAIN (ANALYZE off) DELETE FROM t", // case 6
    "EXPLAIN INSERT INTO t VALUES (1)", // case 6
    "EXPLAIN SELECT a FROM t FOR UPDATE",
    "EXPLAIN ANALYZE SELECT a FROM t",
    "SELECT E'\\'; DELETE FROM t; --'", // case 7
    "SELECT $x$ '; DELETE FROM t; -- $x$",
    "COPY t TO STDOUT", // case 9
    "COPY (SELECT a FROM t) TO STDOUT", // case 9
    "SELECT a FROM t;",
  ])("%s", async (text) => {
    await lb.query(text);
    expect(await counted()).toEqual(['dblb_reads_total{target="replica",reason="ok"} 1']);
  });
});

describe("what writes runs on the primary and sticks, and a standby would refuse it", () => {
  test.each([
    "WITH w AS (INSERT INTO t VALUES (3) RETURNING *) SELECT * FROM w", // case 1
    "WITH i AS (DELETE FROM t RETURNING *), o AS (SELECT * FROM i) SELECT * FROM o", // case 2
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM t FOR NO KEY UPDATE)", // case 3
    "SELECT pg_catalog.setval('s', 1)", // case 4
    "VALUES (nextval('s'))", // case 4
    "EXPLAIN ANALYZE INSERT INTO t VALUES (3)", // case 6
    "SELECT 1; DELETE FROM t", // case 7
    "SELECT * INTO n FROM t", // case 8
    "COPY (DELETE FROM t RETURNING *) TO STDOUT", // case 9
    "COPY (SELECT a FROM t FOR SHARE) TO STDOUT", // case 9
  ])("%s", async (text) => {
    await lb.session(async () => {
      expect(await standby()).toBe(true);
      await lb.query(text);
      expect(await standby()).toBe(false);
    });
    expect((await counted()).filter((line) => !line.includes("reads"))).toEqual(['dblb_writes_total{kind="write"} 1']);
    await expect(cluster.sql(replica, text)).rejects.toMatchObject({ code: "25006" });
  });

  // Cases 5, 9: a standby would do these, and nothing would be locked, or be where it was meant to be.
  test.each(["SELECT pg_try_advisory_xact_lock(1)", "COPY t TO PROGRAM 'cat > /dev/null'"])(
    "%s, though a standby would do it",
    async (text) => {
      await lb.query(text);
      expect(await counted()).toEqual(['dblb_writes_total{kind="write"} 1']);
      await expect(cluster.sql(replica, text)).resolves.toBeDefined();
    },
  );

  // Case 5
  test("a lock of a session's own is held on the primary, and by nobody on a standby", async () => {
    const held = async (server: PostgresServer) => (await cluster.sql(server, "SELECT FROM pg_locks WHERE locktype = 'advisory'")).length;
    await lb.connection(async () => {
      await lb.query("SELECT pg_try_advisory_lock(1)");
      expect([await held(cluster.primary), await held(replica)]).toEqual([1, 0]);
    });
  });

  // Case 9
  test("COPY FROM STDIN, which is not carried, harms no connection", async () => {
    await expect(lb.query("COPY t FROM STDIN")).rejects.toThrow();
    expect((await lb.usePrimary(() => lb.query("SELECT count(*)::int AS n FROM t"))).rows).toEqual([{ n: 2 }]);
    expect((await counted()).filter((line) => line.includes("writes"))).toEqual(['dblb_writes_total{kind="write"} 1']);
  });
});

// Case 10
describe("what cannot be parsed, and nothing at all, goes to the primary", () => {
  test.each(["SELEC 1", "SELECT 1 FROM (", "SELECT\u00a01"])("%s: the server's own error comes back", async (text) => {
    await expect(lb.query(text)).rejects.toMatchObject({ code: expect.stringMatching(/^42/) });
    expect(await counted()).toEqual(['dblb_writes_total{kind="ambiguous"} 1']);
  });

  test.each(["", "  \n", "-- nothing", "/* nothing */ ;"])("%j does nothing and does not stick", async (text) => {
    await lb.session(async () => {
      expect((await lb.query(text)).rows).toEqual([]);
      expect(await standby()).toBe(true);
    });
    expect(await counted()).toContain('dblb_reads_total{target="primary",reason="ambiguous"} 1');
  });
});

// Case 11: a standby has no serializable transactions, reading ones neither.
describe("a serializable transaction that only reads", () => {
  test("runs on the primary", async () => {
    const read = () => lb.transaction({ readOnly: true, isolationLevel: "serializable" }, standby);
    expect(await read()).toBe(false);
    expect(await lb.fallbackToReplicasForAmbiguousQueries(() => lb.transaction({ isolationLevel: "serializable" }, standby))).toBe(false);
    await expect(cluster.sql(replica, "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY; SELECT a FROM t")).rejects.toMatchObject({
      code: "0A000",
    });
  });

  test("is refused as a text of its own", async () => {
    expect(await failureOf(lb.query("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY"))).toMatchObject({ code: "invalid_argument" });
  });
});
