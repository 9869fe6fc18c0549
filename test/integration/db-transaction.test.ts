import { AsyncResource } from "node:async_hooks";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer, type TransactionHandle } from "../../src/db/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";

let cluster: PostgresCluster;
let lb: LoadBalancer;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  await cluster.sql(
    cluster.primary,
    `CREATE TABLE t (id int PRIMARY KEY);
     CREATE FUNCTION writes(n int) RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (n) RETURNING id';`,
  );
  return async () => await cluster[Symbol.asyncDispose]();
});

beforeEach(async () => {
  lb = await createLoadBalancer({ primary: cluster.primary.url, replicas: cluster.replicas.map((replica) => replica.url) });
  await cluster.sql(cluster.primary, "TRUNCATE t");
  await cluster.caughtUp();
  return async () => await lb.close();
});

const standbyIn = async (tx: Pick<TransactionHandle, "query">) =>
  (await tx.query<{ standby: boolean }>("SELECT pg_is_in_recovery() AS standby")).rows[0]?.standby;
const stored = async () => (await cluster.sql(cluster.primary, "SELECT id FROM t ORDER BY id")).map((row) => row["id"]);

test.each(["by default", "inside useReplicasForReadQueries"])(
  "SELECT, INSERT, COMMIT all run on the primary and stick, %s (B125)",
  async (where) => {
    const work = () =>
      lb.transaction(async (tx) => {
        expect(await standbyIn(tx)).toBe(false);
        await tx.query("INSERT INTO t VALUES (1)");
        expect(await standbyIn(tx)).toBe(false);
      });
    await lb.session(async () => {
      await (where === "by default" ? work() : lb.useReplicasForReadQueries(work));
      expect(await standbyIn(lb)).toBe(false);
    });
    expect(await stored()).toEqual([1]);
  },
);

test("where ambiguous work may use replicas, a transaction that reads first runs there and refuses writes (B125)", async () => {
  const failure = await failureOf(
    lb.fallbackToReplicasForAmbiguousQueries(() =>
      lb.transaction(async (tx) => {
        expect(await standbyIn(tx)).toBe(true);
        await tx.query("INSERT INTO t VALUES (1)");
      }),
    ),
  );
  expect(failure).toMatchObject({ code: "write_inside_read_only_transaction" });
  expect(await stored()).toEqual([]);
});

test("there, a transaction that writes first runs on the primary as a whole and sticks", async () => {
  await lb.session(() =>
    lb.fallbackToReplicasForAmbiguousQueries(async () => {
      await lb.transaction(async (tx) => {
        await tx.query("INSERT INTO t VALUES (1)");
        expect(await standbyIn(tx)).toBe(false);
      });
      expect(await standbyIn(lb)).toBe(false);
    }),
  );
  expect(await stored()).toEqual([1]);
});

test("there, a first statement that a replica refuses begins anew on the primary", async () => {
  await lb.fallbackToReplicasForAmbiguousQueries(() =>
    lb.transaction(async (tx) => {
      expect((await tx.query("SELECT writes(4) AS n")).rows).toEqual([{ n: 4 }]);
    }),
  );
  expect(await stored()).toEqual([4]);
});

// Cases 12, 23
test("a read-only transaction runs on a replica, refuses every kind of write, and cannot be made writable", async () => {
  for (const text of [
    "INSERT INTO t VALUES (1)",
    "SELECT nextval('s')",
    "SELECT pg_advisory_lock(1)",
    "SET transaction_read_only = 0",
    "SELECT writes(9)",
  ]) {
    const failure = await failureOf(
      lb.transaction({ readOnly: true }, async (tx) => {
        expect(await standbyIn(tx)).toBe(true);
        await tx.query(text);
      }),
    );
    expect([text, failure.code]).toEqual([text, "write_inside_read_only_transaction"]);
  }
  expect(await stored()).toEqual([]);
});

// Case 23
test("the end of a nested transaction leaves the outer one read-only", async () => {
  const failure = await failureOf(
    lb.transaction({ readOnly: true }, async (tx) => {
      await lb.transaction(async (inner) => void (await inner.query("SELECT 1")));
      await tx.query("DELETE FROM t");
    }),
  );
  expect(failure.code).toBe("write_inside_read_only_transaction");
});

test("a nested transaction that fails undoes only its own work", async () => {
  await lb.transaction(async (tx) => {
    await lb
      .transaction(async (inner) => {
        await inner.query("INSERT INTO t VALUES (1)");
        throw new Error("mine");
      })
      .catch(() => {});
    await tx.query("INSERT INTO t VALUES (2)");
    await lb.transaction({ readOnly: true }, async (inner) =>
      expect((await failureOf(inner.query("DELETE FROM t"))).code).toBe("write_inside_read_only_transaction"),
    );
    await lb.transaction(async (inner) => void (await inner.query("INSERT INTO t VALUES (3)")));
  });
  expect(await stored()).toEqual([2, 3]);
});

test("statements of the load balancer inside a transaction's function belong to the transaction", async () => {
  await lb
    .transaction(async () => {
      await lb.query("INSERT INTO t VALUES (1)");
      expect((await lb.query("SELECT id FROM t")).rows).toEqual([{ id: 1 }]);
      throw new Error("undo");
    })
    .catch(() => {});
  expect(await stored()).toEqual([]);
});

// Case 20
test("a transaction that is rolled back does not stick, and one without statements asks no server", async () => {
  await using nowhere = await createLoadBalancer({ primary: "postgres://u@127.0.0.1:1/x" });
  expect(await nowhere.transaction(async () => 5)).toBe(5);
  await lb.session(async () => {
    await lb
      .transaction(async (tx) => {
        await tx.query("INSERT INTO t VALUES (1)");
        throw new Error("undo");
      })
      .catch(() => {});
    expect(await standbyIn(lb)).toBe(true);
  });
});

test("a failed statement that is swallowed does not turn into a success", async () => {
  const failure = await failureOf(
    lb.transaction(async (tx) => {
      await tx.query("INSERT INTO t VALUES (1)");
      await tx.query("SELECT nothing").catch(() => {});
    }),
  );
  expect(failure.code).toBe("failed_precondition");
  expect(await stored()).toEqual([]);
});

test.each(["40001", "40P01"])("nor does its first one, also where the server cancelled it for another's sake (%s)", async (code) => {
  const cancelled = `DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '${code}'; END $$`;
  const swallowed = lb.transaction(async (tx) => {
    await expect(tx.query(cancelled)).rejects.toMatchObject({ code });
    await tx.query("INSERT INTO t VALUES (1)").catch(() => {});
  });
  expect((await failureOf(swallowed)).code).toBe("failed_precondition");
  expect(await stored()).toEqual([]);
  await lb.transaction(async (tx) => {
    await lb.transaction((inner) => inner.query(cancelled)).catch(() => {});
    await tx.query("INSERT INTO t VALUES (2)");
  });
  expect(await stored()).toEqual([2]);
});

test("a first statement that got no connection is not left out where its error is swallowed, unless it was under a savepoint", async () => {
  await using narrow = await createLoadBalancer({ primary: cluster.primary.url, poolSize: 1 });
  const insert = (tx: Pick<TransactionHandle, "query">, id: number) => tx.query("INSERT INTO t VALUES ($1)", [id]);
  // Made out here, it is not the transaction's own.
  const hold = AsyncResource.bind(
    () =>
      new Promise<() => void>((resolve) => {
        void narrow.connection(() => new Promise<void>((release) => resolve(release)));
      }),
  );
  /** Gives up on a statement while it waits for the only connection. */
  const refused = async (run: (signal: AbortSignal) => Promise<unknown>) => {
    const stop = new AbortController();
    const release = await hold();
    setTimeout(() => stop.abort(new Error("enough")), 50);
    await expect(run(stop.signal)).rejects.toThrow("enough");
    release();
  };
  const swallowed = narrow.transaction(async (tx) => {
    await refused((signal) => tx.query("INSERT INTO t VALUES (1)", [], { signal }));
    await narrow.transaction((inner) => insert(inner, 2)).catch(() => {});
    expect((await failureOf(insert(tx, 3))).code).toBe("failed_precondition");
  });
  expect((await failureOf(swallowed)).code).toBe("failed_precondition");
  expect(await stored()).toEqual([]);
  await narrow.transaction(async (tx) => {
    await refused((signal) => narrow.transaction({ signal }, (inner) => insert(inner, 4)));
    await insert(tx, 5);
  });
  expect(await stored()).toEqual([5]);
});

test("transaction control and use after the end are refused", async () => {
  let leaked: TransactionHandle | undefined;
  await lb.transaction(async (tx) => {
    leaked = tx;
    expect((await failureOf(tx.query("COMMIT"))).code).toBe("invalid_argument");
    await tx.query("SAVEPOINT mine");
    await tx.query("INSERT INTO t VALUES (1)");
    await tx.query("ROLLBACK TO mine");
  });
  expect(leaked && (await failureOf(leaked.query("SELECT 1"))).code).toBe("failed_precondition");
  expect(await stored()).toEqual([]);
});

// Case 11
test("serializable is not asked of a standby", async () => {
  await lb.transaction({ readOnly: true, isolationLevel: "serializable" }, async (tx) => expect(await standbyIn(tx)).toBe(false));
});

test("an abort ends a transaction at once, whatever the server is busy with, and nothing of it stays", async () => {
  const stop = new AbortController();
  const running = lb.transaction({ signal: stop.signal }, async (tx) => {
    await tx.query("INSERT INTO t VALUES (1)");
    setTimeout(() => stop.abort(new Error("enough")), 100);
    await tx.query("SELECT pg_sleep(5)");
  });
  const startedMs = performance.now();
  await expect(running).rejects.toThrow("enough");
  expect(performance.now() - startedMs).toBeLessThan(4000);
  expect(await stored()).toEqual([]);
});

test("an abort reaches the load balancer's own statements in a transaction", async () => {
  const stop = new AbortController();
  const startedMs = performance.now();
  const running = lb.transaction({ signal: stop.signal }, async () => {
    await lb.query("INSERT INTO t VALUES (1)");
    setTimeout(() => stop.abort(new Error("enough")), 100);
    await lb.query("SELECT pg_sleep(5)");
  });
  await expect(running).rejects.toThrow("enough");
  expect(performance.now() - startedMs).toBeLessThan(4000);
  expect(await stored()).toEqual([]);
});

test("a transaction that is aborted after its last statement is not committed", async () => {
  const stop = new AbortController();
  const running = lb.transaction({ signal: stop.signal }, async (tx) => {
    await tx.query("INSERT INTO t VALUES (1)");
    stop.abort(new Error("enough"));
  });
  await expect(running).rejects.toThrow("enough");
  expect(await stored()).toEqual([]);
});

test("a savepoint that is aborted after its last statement is undone, and what is around it goes on", async () => {
  await lb.transaction(async (tx) => {
    await tx.query("INSERT INTO t VALUES (1)");
    const stop = new AbortController();
    const inner = lb.transaction({ signal: stop.signal }, async (nested) => {
      await nested.query("INSERT INTO t VALUES (2)");
      stop.abort(new Error("enough"));
    });
    await expect(inner).rejects.toThrow("enough");
    await tx.query("INSERT INTO t VALUES (3)");
  });
  expect(await stored()).toEqual([1, 3]);
});

test("a transaction whose statement was given up runs no other one and is never committed", async () => {
  const failure = await failureOf(
    lb.transaction(async (tx) => {
      const stop = new AbortController();
      const given = tx.query("INSERT INTO t SELECT 1 FROM pg_sleep(1)", [], { signal: stop.signal });
      setTimeout(() => stop.abort(new Error("enough")), 100);
      await expect(given).rejects.toThrow("enough");
      expect(await failureOf(tx.query("INSERT INTO t VALUES (2)"))).toMatchObject({ code: "failed_precondition" });
    }),
  );
  expect(failure).toMatchObject({ code: "failed_precondition" });
  expect(await stored()).toEqual([]);
});

test("a text that the protocol cannot carry is the caller's fault and costs no replica", async () => {
  expect(await failureOf(lb.query("SELECT 1\0; DROP TABLE t"))).toMatchObject({ code: "invalid_argument" });
  expect(await failureOf(lb.query("SELECT 1\0", [], { hint: "read" }))).toMatchObject({ code: "invalid_argument" });
  expect(lb.status.every(({ usable }) => usable)).toBe(true);
});
