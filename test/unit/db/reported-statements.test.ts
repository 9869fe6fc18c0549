import { expect, test } from "vitest";
import { classify } from "../../../src/db/classify.ts";

// Statements that other libraries and proxies sent to the wrong server, named by where users reported it.
test.each([
  ["pgcat 829", "WITH x AS (UPDATE t SET a = 1 WHERE id = 3 RETURNING id) SELECT id FROM x", "write"],
  ["pgcat 750", "SELECT * FROM u WHERE id=3 FOR UPDATE", "write"],
  ["pgcat 887", "SELECT t.* FROM t WHERE state = 'ready' ORDER BY id LIMIT 10 FOR NO KEY UPDATE OF t SKIP LOCKED", "write"],
  ["pgcat 887, a grammar of the future", "SELECT * FROM t FOR SOME NEW LOCK", "ambiguous"],
  ["pgcat 489", "SELECT nextval('s')", "write"],
  ["pgcat 489, with its type", "select nextval('s'::regclass) as id", "write"],
  [
    "drizzle-orm 4185",
    'with "sq" as (update "users" set "name" = $1 where "users"."id" = $2 returning "id") select "id" from "sq"',
    "write",
  ],
  [
    "active_record_proxy_adapters 45",
    "WITH a AS (SELECT id FROM t),\nb AS (SELECT id FROM a)\n-- the newest only\nINSERT INTO archive SELECT id FROM b",
    "write",
  ],
  ["makara 376", "WITH recent AS (\n  SELECT id\n  FROM t\n)\nSELECT *\nFROM recent", "read"],
  ["pgpool2 155", "BEGIN; SET transaction_read_only = 0; COMMIT", "session"],
  ["pgdog 334", "BEGIN READ ONLY", "transaction"],
  ["sequelize 14860", "INSERT INTO t (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET n = t.n + 1 RETURNING *", "write"],
  ["postgrest 547", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", "transaction"],
] as const)("%s: %s is classed as %s", (_report, text, kind) => {
  expect(classify(text).kind).toBe(kind);
});
