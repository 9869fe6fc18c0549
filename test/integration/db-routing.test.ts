import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CodedError } from "../../src/base/index.ts";
import { createLoadBalancer, type LoadBalancer } from "../../src/db/index.ts";
import { createMetrics } from "../../src/observability/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";
import { replayPaused } from "../support/replay-paused.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let lb: LoadBalancer;
let metrics = createMetrics();

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  await cluster.sql(
    cluster.primary,
    `CREATE TABLE t (id int PRIMARY KEY, v text);
     CREATE TABLE log (at int);
     CREATE FUNCTION writes(n int) RETURNS int LANGUAGE sql AS 'INSERT INTO log VALUES (n) RETURNING at';
     CREATE FUNCTION reads(n int) RETURNS int LANGUAGE sql AS 'SELECT n';
     CREATE VIEW writing_view AS SELECT writes(1) AS n;`,
  );
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
});

beforeEach(async () => {
  metrics = createMetrics();
  lb = await createLoadBalancer(
    { ...patientDatabase, primary: cluster.primary.url, replicas: cluster.replicas.map((replica) => replica.url) },
    { metrics },
  );
  await allUsable(lb);
  await cluster.sql(cluster.primary, "TRUNCATE t, log");
  await cluster.caughtUp();
  return async () => await lb.close();
});

const onStandby = async (): Promise<boolean> => {
  const { rows } = await lb.query<{ standby: boolean }>("SELECT pg_is_in_recovery() AS standby");
  return rows[0]?.standby === true;
};

describe("single statements", () => {
  test("reads go to the replica, writes to the primary", async () => {
    expect(await onStandby()).toBe(true);
    expect((await lb.query("INSERT INTO t VALUES (1, 'a') RETURNING id")).rows).toEqual([{ id: 1 }]);
    await cluster.caughtUp();
    expect((await lb.query("SELECT v FROM t WHERE id = $1", [1])).rows).toEqual([{ v: "a" }]);
  });

  test.each([
    "INSERT INTO t VALUES (7, 'x') RETURNING id", // B123
    "WITH x AS (INSERT INTO t VALUES (7, 'x') RETURNING id) SELECT id FROM x", // B121
    "/* app:web */ INSERT INTO t VALUES (7, 'x') RETURNING id", // B122
  ])("%s runs on the primary and sticks", async (text) => {
    await replayPaused(cluster, cluster.replicas, async () => {
      await lb.session(async () => {
        expect(await onStandby()).toBe(true);
        expect((await lb.query(text)).rows).toEqual([{ id: 7 }]);
        expect((await lb.query("SELECT count(*)::int AS n FROM t")).rows).toEqual([{ n: 1 }]);
      });
    });
  });

  test("locking reads, unknown functions and several statements run on the primary", async () => {
    await lb.query("SELECT * FROM t FOR UPDATE");
    expect((await lb.query("SELECT writes(5) AS n")).rows).toEqual([{ n: 5 }]);
    await expect(lb.query("SELECT 1; SELECT 2")).resolves.toBeDefined();
  });

  // Case 34
  test("a read that a replica refuses as a write runs once on the primary, and the replica stays in use", async () => {
    expect((await lb.query("SELECT n FROM writing_view")).rows).toEqual([{ n: 1 }]);
    expect(await cluster.sql(cluster.primary, "SELECT count(*)::int AS n FROM log")).toEqual([{ n: 1 }]);
    expect(lb.status.every((host) => host.usable)).toBe(true);
    expect(await metrics.expose()).toMatch(/dblb_reads_total\{target="primary",reason="misroute"\} 1/);
    await lb.query("SELECT n FROM writing_view");
    expect(await metrics.expose()).toMatch(/dblb_writes_total\{kind="write"\} 1/);
  });

  test("the server's own errors pass through, and the connection is used again", async () => {
    const backend = async () => (await lb.usePrimary(() => lb.query<{ pid: number }>("SELECT pg_backend_pid() AS pid"))).rows[0]?.pid;
    const before = await backend();
    await expect(lb.query("INSERT INTO t VALUES (1), (1)")).rejects.toMatchObject({ code: "23505" });
    await expect(lb.usePrimary(() => lb.query("SELECT nothing FROM t"))).rejects.toMatchObject({ code: "42703" });
    expect(await backend()).toBe(before);
  });

  test.each([
    "SET search_path = a",
    "SET LOCAL search_path = a",
    "SELECT set_config('app.user', '1', false)",
    "CREATE TEMP TABLE x (a int)",
    "SELECT 1 AS a INTO TEMP x",
    "PREPARE p AS SELECT 1",
    "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
    "LISTEN a",
    "SELECT pg_advisory_lock(1)",
    "SELECT pg_try_advisory_lock_shared(1)",
    "SELECT lastval()",
    "SELECT pg_export_snapshot()",
  ])("%s is refused where any connection might get it", async (text) => {
    expect(await failureOf(lb.query(text))).toMatchObject({ code: "failed_precondition" });
  });

  test.each(["RESET ALL", "DISCARD ALL", "UNLISTEN *", "DEALLOCATE ALL", "SELECT setseed(0.5), random()"])(
    "%s harms nobody",
    async (text) => {
      await expect(lb.query(text)).resolves.toBeDefined();
    },
  );

  test("transaction control is refused outside of transaction()", async () => {
    expect(await failureOf(lb.query("BEGIN"))).toMatchObject({ code: "invalid_argument" });
  });

  test("a hint may vouch for an unknown function, never for a write", async () => {
    const text = "SELECT reads(1) AS n, pg_is_in_recovery() AS standby";
    expect((await lb.query(text, [], { hint: "read" })).rows).toEqual([{ n: 1, standby: true }]);
    expect(await failureOf(lb.query("DELETE FROM t", [], { hint: "read" }))).toMatchObject({ code: "invalid_argument" });
  });

  test.each([new CodedError("cancelled", "enough"), null])("a statement that is aborted with %s rejects with that", async (reason) => {
    const controller = new AbortController();
    const text = `SELECT pg_sleep(60) -- ${reason}`;
    const running = lb
      .usePrimary(() => lb.query(text, [], { signal: controller.signal }))
      .then(
        () => "answered",
        (error: unknown) => error,
      );
    const active = `SELECT FROM pg_stat_activity WHERE state = 'active' AND query = '${text}'`;
    await until("the server runs it", async () => (await cluster.sql(cluster.primary, active)).length === 1);
    controller.abort(reason);
    expect(await running).toBe(reason);
    expect((await lb.query("SELECT 1 AS n")).rows).toEqual([{ n: 1 }]);
  });
});

describe("a connection of one's own", () => {
  test("keeps settings, temporary tables, cursors and locks for its user, and nobody else", async () => {
    await lb.connection(async (connection) => {
      await connection.query("SET statement_timeout = 1234");
      await connection.query("CREATE TEMP TABLE scratch AS SELECT 7 AS n");
      await lb.query("SELECT pg_advisory_lock(42)");
      await lb.query("PREPARE plus AS SELECT n + 1 AS n FROM scratch");
      expect((await lb.query("EXECUTE plus")).rows).toEqual([{ n: 8 }]);
      expect((await lb.query("SHOW statement_timeout")).rows).toEqual([{ statement_timeout: "1234ms" }]);
      const locks = await cluster.sql(cluster.primary, "SELECT objid::int FROM pg_locks WHERE locktype = 'advisory'");
      expect(locks).toEqual([{ objid: 42 }]);
    });
    expect(await cluster.sql(cluster.primary, "SELECT FROM pg_locks WHERE locktype = 'advisory'")).toEqual([]);
    await lb.connection(async (connection) => {
      expect((await connection.query("SHOW statement_timeout")).rows).toEqual([{ statement_timeout: "30s" }]);
      await expect(connection.query("SELECT n FROM scratch")).rejects.toMatchObject({ code: "42P01" });
    });
  });

  test("has transactions that nest, and keeps what was set before them", async () => {
    await lb.connection(async (connection) => {
      await connection.query("CREATE TEMP TABLE scratch (n int)");
      await lb.transaction(async (tx) => {
        await tx.query("INSERT INTO scratch VALUES (1)");
        await lb.transaction(() => lb.query("INSERT INTO scratch VALUES (2)"));
        await lb.transaction(() => lb.query("INSERT INTO scratch VALUES (3)").then(() => Promise.reject(new Error("no")))).catch(() => {});
      });
      await lb.transaction(() => lb.query("DELETE FROM scratch").then(() => Promise.reject(new Error("no")))).catch(() => {});
      expect((await connection.query("SELECT n FROM scratch ORDER BY n")).rows).toEqual([{ n: 1 }, { n: 2 }]);
      const write = lb.transaction({ readOnly: true }, (tx) => tx.query("INSERT INTO t VALUES (1)"));
      expect(await failureOf(write)).toMatchObject({ code: "write_inside_read_only_transaction" });
      expect(await failureOf(connection.query("BEGIN"))).toMatchObject({ code: "invalid_argument" });
    });
  });

  test("is none for notifications, which nobody would be given; a transaction neither", async () => {
    for (const text of ["LISTEN a", "SELECT 1; LISTEN a"]) {
      const refusal = { code: "failed_precondition", message: expect.stringContaining("notifications") };
      expect(await failureOf(lb.query(text))).toMatchObject(refusal);
      expect(await failureOf(lb.connection((connection) => connection.query(text)))).toMatchObject(refusal);
      expect(await failureOf(lb.transaction((tx) => tx.query(text)))).toMatchObject(refusal);
    }
    await lb.connection((connection) => connection.query("UNLISTEN *"));
    await lb.transaction((tx) => tx.query("NOTIFY a"));
  });

  test("sticks its session when something was written, and is the transaction's where one is open", async () => {
    await replayPaused(cluster, cluster.replicas, async () => {
      await lb.session(async () => {
        await lb.connection((connection) => connection.query("SELECT 1"));
        expect(await onStandby()).toBe(true);
        await lb.connection((connection) => connection.query("INSERT INTO t VALUES (1)"));
        expect(await onStandby()).toBe(false);
      });
    });
    await lb.transaction(async (tx) => {
      await tx.query("INSERT INTO t VALUES (2)");
      await lb.connection(async (connection) => expect((await connection.query("SELECT id FROM t WHERE id = 2")).rows).toHaveLength(1));
    });
  });

  test("is good for nothing after its end", async () => {
    let kept: { query(text: string): Promise<unknown> } | undefined;
    await lb.connection(async (connection) => {
      kept = connection;
    });
    expect(await failureOf(kept?.query("SELECT 1") as Promise<unknown>)).toMatchObject({ code: "failed_precondition" });
  });
});

// Report: pgpool2 152
test("settings for row security go with a transaction that only reads, to a replica, and its connection is kept", async () => {
  const pids = new Set<unknown>();
  for (const user of ["1", "2"]) {
    await lb.transaction({ readOnly: true }, async (tx) => {
      await tx.query("SELECT set_config('app.user', $1, true)", [user]);
      const { rows } = await tx.query("SELECT current_setting('app.user') AS u, pg_is_in_recovery() AS r, pg_backend_pid() AS pid");
      expect(rows).toMatchObject([{ u: user, r: true }]);
      pids.add(rows[0]?.["pid"]);
    });
  }
  expect(pids.size).toBe(1);
});

describe("sessions and blocks", () => {
  // Case 13
  test("after a write the session reads its own write, other sessions stay on the replica", async () => {
    await replayPaused(cluster, cluster.replicas, async () => {
      await lb.session(async () => {
        await lb.query("INSERT INTO t VALUES (1, 'mine')");
        expect(await onStandby()).toBe(false);
        expect((await lb.query("SELECT v FROM t")).rows).toEqual([{ v: "mine" }]);
        await lb.session(async () => expect(await onStandby()).toBe(true));
        expect(await onStandby()).toBe(false);
      });
      expect(await onStandby()).toBe(true);
    });
  });

  test("later sessions of the same key see the write, others use the replica (B137)", async () => {
    const read = (user: number) => lb.session({ stick: [["user", user]] }, onStandby);
    expect(await read(1)).toBe(true);
    await replayPaused(cluster, cluster.replicas, async () => {
      await lb.session({ stick: [["user", 1]] }, async () => void (await lb.query("INSERT INTO t VALUES (1)")));
      expect(await read(1)).toBe(false);
      expect(await read(1)).toBe(false);
      expect(await read(2)).toBe(true);
    });
  });

  test("a thousand interleaved sessions do not mix", async () => {
    const results = await Promise.all(
      Array.from({ length: 1000 }, (_, i) =>
        lb.session(async () => {
          if (i % 50 === 0) await lb.query("INSERT INTO t VALUES ($1)", [i]);
          else await Promise.resolve();
          return [i % 50 !== 0, await onStandby()];
        }),
      ),
    );
    expect(results.filter(([expected, actual]) => expected !== actual)).toEqual([]);
  });

  // Cases 21, 22
  test("blocks nest and restore what was before", async () => {
    await lb.session(async () => {
      await lb.usePrimary(async () => {
        expect(await onStandby()).toBe(false);
        await lb.useReplicasForReadQueries(async () => expect(await onStandby()).toBe(true));
        expect(await onStandby()).toBe(false);
      });
      expect(await onStandby()).toBe(true);
      await lb.ignoreWrites(async () => {
        await lb.ignoreWrites(async () => void (await lb.query("INSERT INTO t VALUES (1)")));
        await lb.query("INSERT INTO t VALUES (2)");
      });
      expect(await onStandby()).toBe(true);
      await lb.useReplicasForReadQueries(async () => {
        await lb.query("INSERT INTO t VALUES (3)");
        expect(await onStandby()).toBe(true);
      });
      expect(await onStandby()).toBe(false);
    });
  });

  test("a block may refuse writes instead", async () => {
    const write = () => lb.query("INSERT INTO t VALUES (1)");
    const failure = await failureOf(lb.useReplicasForReadQueries({ onWrite: "throw" }, write));
    expect(failure).toMatchObject({ code: "write_inside_read_only_transaction" });
    expect(await cluster.sql(cluster.primary, "SELECT * FROM t")).toEqual([]);
  });

  test("what cannot be told apart is tried on a replica where the block says so, until the session has written", async () => {
    const ambiguous = async () =>
      (await lb.query<{ standby: boolean }>("SELECT reads(1), pg_is_in_recovery() AS standby")).rows[0]?.standby;
    await lb.session(() =>
      lb.fallbackToReplicasForAmbiguousQueries(async () => {
        expect(await ambiguous()).toBe(true);
        await lb.query("INSERT INTO t VALUES (1)");
        expect(await ambiguous()).toBe(false);
      }),
    );
    await lb.fallbackToReplicasForAmbiguousQueries(async () => expect((await lb.query("SELECT writes(3) AS n")).rows).toEqual([{ n: 3 }]));
  });
});
