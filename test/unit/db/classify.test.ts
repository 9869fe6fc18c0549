import { describe, expect, test } from "vitest";
import type { StatementKind } from "../../../src/db/analyse.ts";
import { Classifier, classify } from "../../../src/db/classify.ts";

function table(kind: StatementKind, texts: readonly string[]): void {
  test.each(texts.map((text) => [text.slice(0, 100), text]))(`%s is classed as ${kind}`, (_shown, text) => {
    expect(classify(text)).toMatchObject({ kind });
  });
}

describe("plain queries may run anywhere", () => {
  table("read", [
    "SELECT 1",
    "select * from t where id = $1",
    "TABLE t",
    "VALUES (1), (2)",
    "(((SELECT 1)))",
    "WITH a AS (SELECT 1), b AS (SELECT * FROM a)\n-- comment\nSELECT * FROM b",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT * FROM r",
    "SELECT 1 UNION SELECT 2 EXCEPT SELECT 3",
    "/* app:web */ SELECT 1",
    "/* outer /* inner */ still outer */ SELECT 1",
    "-- only a line\nSELECT 1 -- and no newline",
    "SELECT 'nextval(1)', \"nextval\" FROM t", // case 4
    'SELECT "update", "delete" FROM "insert" WHERE "for" = \'FOR UPDATE\'',
    "SELECT E'\\'; DELETE FROM t; --'", // case 7
    "SELECT $$; DELETE FROM t; $$, $tag$ FOR UPDATE $tag$",
    "SELECT count(*), sum(a), row_number() OVER (PARTITION BY b) FROM t GROUP BY b HAVING max(c) > 1",
    "SELECT lower(a), now(), random(), gen_random_uuid(), pg_is_in_recovery(), coalesce(a, b), a::int, current_date FROM t",
    "SELECT extract(year FROM a), substring(a FROM 1), a AT TIME ZONE 'utc', overlay('a' PLACING 'b' FROM 1), a SIMILAR TO b FROM t",
    "SELECT pg_catalog.lower('A')",
    "SELECT * FROM generate_series(1, 3) AS g, LATERAL jsonb_each('{}')",
    "SHOW server_version",
    "EXPLAIN SELECT 1",
    "EXPLAIN DELETE FROM t",
    "EXPLAIN (ANALYZE off) DELETE FROM t", // case 6
    "EXPLAIN (ANALYZE false, BUFFERS) DELETE FROM t",
    "EXPLAIN (ANALYZE 0) DELETE FROM t",
    "EXPLAIN ANALYZE SELECT 1",
    "COPY t TO STDOUT", // case 9
    "COPY (SELECT 1) TO STDOUT", // case 9
    "SELECT 1;",
    "SELECT 1;;",
    "SELECT 1; SELECT 2",
    "SELECT pg_current_xact_id_if_assigned()",
    "SELECT * FROM pg_stat_activity",
    "SELECT inet_server_addr()",
  ]);
});

describe("whatever changes something belongs to the primary", () => {
  table("write", [
    "INSERT INTO t VALUES (1)",
    "INSERT INTO t SELECT * FROM s ON CONFLICT DO NOTHING RETURNING id", // B123
    "UPDATE t SET a = 1",
    "DELETE FROM t",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "WITH a AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM a", // case 1, B121
    "WITH x AS (UPDATE t SET a=1 RETURNING id) SELECT * FROM x",
    "WITH a AS (WITH b AS (DELETE FROM t RETURNING *) SELECT * FROM b) SELECT * FROM a", // case 2
    "WITH a AS (MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE RETURNING t.id) SELECT 1",
    "SELECT * FROM (WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d) AS q",
    "SELECT 1 FROM t FOR UPDATE",
    "(SELECT 1 FOR UPDATE)", // B122
    "SELECT * FROM t LIMIT 10 FOR NO KEY UPDATE OF t SKIP LOCKED",
    "SELECT * FROM t FOR SHARE",
    "SELECT * FROM t FOR KEY SHARE NOWAIT",
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM t FOR NO KEY UPDATE)", // case 3
    "WITH l AS (SELECT * FROM t FOR SHARE) SELECT * FROM l",
    "SELECT (SELECT a FROM t FOR UPDATE)",
    "SELECT 1 UNION ALL (SELECT a FROM t FOR UPDATE)",
    "SELECT nextval('s')",
    "SELECT pg_catalog.setval('s', 1)", // case 4
    "SELECT NEXTVAL('s') + 1 FROM t WHERE a IN (SELECT 1)",
    'SELECT "pg_catalog"."nextval"(\'s\')',
    "SELECT U&\"nextv\\0061l\"('s')",
    "VALUES (1), (nextval('s'))",
    "SELECT * FROM ROWS FROM (nextval('s'), generate_series(1, 2)) AS r",
    "SELECT a FROM t ORDER BY a LIMIT (SELECT setval('s', 1))",
    "SELECT count(*) FILTER (WHERE nextval('s') > 1) OVER w FROM t WINDOW w AS (PARTITION BY a)",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + nextval('s') FROM r WHERE n < 9) SELECT * FROM r",
    "SELECT * FROM t, LATERAL (SELECT a FROM u WHERE u.id = t.id FOR SHARE) AS l",
    "EXPLAIN (ANALYZE) SELECT nextval('s')",
    "EXPLAIN (ANALYZE off, ANALYZE) DELETE FROM t",
    "SELECT pg_try_advisory_lock(1)", // case 5
    "SELECT pg_advisory_xact_lock_shared(1)",
    "SELECT pg_notify('a', 'b')",
    "SELECT txid_current()",
    "SELECT pg_current_xact_id()",
    "SELECT lo_create(0)",
    "SELECT pg_current_wal_lsn()",
    "SELECT pg_create_restore_point('x')",
    "SELECT pg_reload_conf()",
    "SELECT pg_terminate_backend(1)",
    "SELECT query_to_xml('DELETE FROM t', true, true, '')",
    "SELECT dblink_exec('DELETE FROM t')",
    "SELECT * INTO n FROM t", // case 8
    "CREATE TABLE n AS SELECT 1",
    "CREATE TEMP TABLE n (a int)",
    "CREATE VIEW v AS SELECT 1",
    "ALTER TABLE t ADD COLUMN a int",
    "DROP TABLE t",
    "TRUNCATE t",
    "VACUUM t",
    "ANALYZE t",
    "REFRESH MATERIALIZED VIEW v",
    "CHECKPOINT",
    "NOTIFY a",
    "LOCK TABLE t IN ACCESS SHARE MODE",
    "GRANT SELECT ON t TO u",
    "COPY t FROM STDIN", // case 9
    "COPY t FROM '/tmp/file'", // case 9
    "COPY (SELECT * FROM t FOR UPDATE) TO STDOUT", // case 9
    "COPY (SELECT nextval('s')) TO STDOUT", // case 9
    "COPY (SELECT 1) TO PROGRAM 'cat'", // case 9
    "COPY t TO PROGRAM 'cat'", // case 9
    "COPY t TO '/tmp/file'", // case 9
    "COPY (DELETE FROM t RETURNING *) TO STDOUT", // case 9
    "EXPLAIN ANALYZE INSERT INTO t VALUES (1)", // case 6
    "explain analyze delete from t",
    "EXPLAIN (ANALYZE, VERBOSE) UPDATE t SET a = 1",
    "EXPLAIN (ANALYZE on) SELECT 1 FROM t FOR UPDATE",
    "SELECT 1; DELETE FROM t", // case 7
    "/* app:web */ INSERT INTO t VALUES (1)",
    "-- c\n DELETE FROM t",
    "PREPARE TRANSACTION 'x'",
    "DECLARE c CURSOR FOR SELECT 1 FROM t FOR UPDATE",
    "DELETE FROM t; SELECT 1",
  ]);
});

describe("what cannot be told apart is ambiguous", () => {
  table("ambiguous", [
    "CALL p()",
    "DO $$ BEGIN PERFORM 1; END $$",
    "EXECUTE p(1)",
    "EXPLAIN ANALYZE EXECUTE p(1)",
    "DECLARE c CURSOR FOR SELECT my_function(1)",
    "SELECT my_function(1)",
    "SELECT other.lower('A')",
    "SELECT public.nextval('s')",
    "SELEC 1", // case 10
    "SELECT\u00a01",
    "SELECT 1 FROM (",
    `SELECT ${"1 + ".repeat(40_000)}1`,
    `${"(".repeat(30_000)}SELECT 1${")".repeat(30_000)}`,
  ]);
});

describe("what works on one connection is session", () => {
  table("session", [
    "SET search_path = a",
    "SET LOCAL search_path = a",
    "SET transaction_read_only = 0", // case 12
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    "RESET ALL",
    "DISCARD ALL",
    "PREPARE p AS INSERT INTO t VALUES ($1)",
    "EXPLAIN EXECUTE p(1)",
    "DEALLOCATE p",
    "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
    "FETCH ALL FROM c",
    "CLOSE c",
    "LISTEN a",
    "UNLISTEN a",
    "LOAD 'auto_explain'",
    "SELECT set_config('app.user', '1', false)",
    "SELECT currval('s')",
    "SELECT lastval()",
    "SELECT pg_export_snapshot()",
  ]);
});

describe("transaction control", () => {
  table("transaction", [
    "BEGIN",
    "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", // case 11
    "START TRANSACTION READ WRITE",
    "COMMIT",
    "COMMIT AND CHAIN",
    "ROLLBACK",
    "SAVEPOINT a",
    "ROLLBACK TO a",
    "SET TRANSACTION READ ONLY",
    "SET CONSTRAINTS ALL DEFERRED",
    "BEGIN; SELECT 1; COMMIT",
  ]);
});

describe("nothing to run", () => {
  // Case 10
  table("empty", ["", "   \n", "-- only a comment", "/* and */ ; ;"]);
});

test("reasons say what was found", () => {
  expect(classify("SELECT 1").reasons).toEqual([]);
  expect(classify("SELECT nextval('s') FROM t FOR UPDATE").reasons.sort()).toEqual(["FOR UPDATE", "function nextval"]);
  expect(classify("WITH x AS (DELETE FROM t RETURNING 1) SELECT 1").reasons).toEqual(["DELETE inside a query"]);
  expect(classify("SELEC").reasons).toEqual(["syntax error"]);
});

test("a caller cannot change what is remembered", () => {
  classify("SELECT 1 AS mine").reasons.push("changed");
  expect(classify("SELECT 1 AS mine").reasons).toEqual([]);
});

test("functions that the user vouches for are reads, by the name they were given under", () => {
  const classifier = new Classifier({ pureFunctions: ["f", "app.g"] });
  expect(classifier.analyse("SELECT f(1), app.g(2)").kind).toBe("read");
  expect(classifier.analyse("SELECT g(2)").kind).toBe("ambiguous");
  expect(classifier.analyse("SELECT app.f(1)").kind).toBe("ambiguous");
});

test("a text that a server refused as a write is a write from then on", () => {
  const classifier = new Classifier();
  expect(classifier.analyse("SELECT * FROM writing_view").kind).toBe("read");
  classifier.learnWrite("SELECT * FROM writing_view");
  expect(classifier.analyse("SELECT * FROM writing_view").kind).toBe("write");
  expect(classifier.analyse("SELECT * FROM  writing_view").kind).toBe("read");
});

test("texts above the limits are not parsed", () => {
  const classifier = new Classifier({ maxParsedChars: 10 });
  expect(classifier.analyse("SELECT 11")).toMatchObject({ kind: "read" });
  expect(classifier.analyse("SELECT 1111")).toMatchObject({ kind: "ambiguous", reasons: ["too long to parse"] });
});

test.each([
  ["SET a = 1", true],
  ["SET LOCAL a = 1", false],
  ["PREPARE p AS SELECT 1", true],
  ["CREATE TEMP TABLE n (a int)", true],
  ["CREATE TABLE n (a int)", false],
  ["SELECT pg_advisory_lock(1)", true],
  ["SELECT pg_advisory_xact_lock(1)", false],
  ["SELECT set_config('a', 'b', false)", true],
  ["SELECT set_config('a', $1, true)", false],
  ["SELECT set_config('a', 'b', $1)", true],
  ["SELECT 1", false],
])("%s leaves state on its connection: %s", (text, expected) => {
  expect(new Classifier().analyse(text).leavesState).toBe(expected);
});

test("a temporary table made by a query stays on its connection, so the connection is not kept", () => {
  expect(new Classifier().analyse("SELECT * INTO TEMP x FROM t")).toMatchObject({ kind: "write", leavesState: true });
  expect(new Classifier().analyse("EXPLAIN ANALYZE SELECT * INTO TEMP x FROM t")).toMatchObject({ kind: "write", leavesState: true });
  expect(new Classifier().analyse("SELECT * INTO x FROM t")).toMatchObject({ kind: "write", leavesState: false });
});

test("the verdict is on the whole text, also where it holds a NUL", () => {
  expect(classify("SELECT 1\0; DROP TABLE t")).toEqual({ kind: "ambiguous", reasons: ["a NUL character"] });
  expect(classify("\0")).toMatchObject({ kind: "ambiguous" });
});
