import fc from "fast-check";
import { expect, test } from "vitest";
import { Classifier, classify } from "../../src/db/classify.ts";

const limits = { interruptAfterTimeLimit: 5000, numRuns: 20_000 };
const words = fc.constantFrom(
  ...[
    "SELECT",
    "INSERT",
    "INTO",
    "t",
    "a",
    "*",
    "1",
    "FROM",
    "WITH",
    "AS",
    "(",
    ")",
    ",",
    ";",
    "FOR",
    "UPDATE",
    "'x'",
    "$$",
    "--",
    "/*",
    "*/",
  ],
  ...[
    '"q"',
    "$1",
    "E'\\'",
    "EXPLAIN",
    "ANALYZE",
    "DELETE",
    "RETURNING",
    "UNION",
    "SET",
    "=",
    "nextval",
    "COPY",
    "TO",
    "STDOUT",
    "\n",
    "\0",
    "é",
  ],
);
const noise = fc.constantFrom("", " ", "\n\t", "-- note\n", "/* a /* b */ c */", "/*;*/ ");
const writes = fc.constantFrom(
  "INSERT INTO t VALUES (1)",
  "WITH x AS (UPDATE t SET a = 1 RETURNING id) SELECT * FROM x",
  "SELECT a FROM t FOR UPDATE",
  "SELECT nextval('s')",
  "DROP TABLE t",
);

test("no text makes the classifier throw", () => {
  const kinds = ["read", "write", "ambiguous", "session", "transaction", "empty"];
  const text = fc.oneof(
    fc.string({ maxLength: 200, unit: "binary" }),
    fc.array(words, { maxLength: 40 }).map((parts) => parts.join(" ")),
  );
  fc.assert(
    fc.property(text, (sql) => {
      expect(kinds).toContain(classify(sql).kind);
    }),
    limits,
  );
});

test("a write stays a write under comments, in parentheses, in subqueries and beside other statements", () => {
  fc.assert(
    fc.property(writes, noise, noise, fc.integer({ min: 0, max: 3 }), (sql, before, after, form) => {
      const wrapped = [sql, `SELECT 1; ${sql}`, `${sql}; SELECT 1`, `EXPLAIN (ANALYZE) ${sql}`][form] as string;
      // DDL cannot be explained; then the grammar refuses it, which also leads to the primary.
      expect(["write", "ambiguous"]).toContain(classify(`${before}${wrapped}${after}`).kind);
    }),
    limits,
  );
});

test("what is remembered equals what would be found anew", () => {
  const remembering = new Classifier({ cacheEntries: 8 });
  fc.assert(
    fc.property(fc.array(words, { maxLength: 12 }), (parts) => {
      const sql = parts.join(" ");
      remembering.analyse(sql);
      expect(remembering.analyse(sql)).toEqual(new Classifier().analyse(sql));
    }),
    { ...limits, numRuns: 3000 },
  );
});
