import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CodedError, neverAborted, systemClock } from "../../src/base/index.ts";
import { defaultHostOptions, Host } from "../../src/db/hosts/host.ts";
import { createLoadBalancer, type LoadBalancer } from "../../src/db/index.ts";
import { silentLogger } from "../../src/observability/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { startTcpFront } from "../support/tcp-front.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let replica: PostgresServer;
let lb: LoadBalancer;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  replica = cluster.replicas[0] as PostgresServer;
  await cluster.sql(cluster.primary, "CREATE TABLE t (id int PRIMARY KEY)");
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
});

const options = (more: { statementTimeoutMs?: number; primaryAttempts?: number } = {}) => ({
  ...patientDatabase,
  primary: cluster.primary.url,
  replicas: [replica.url],
  primaryBackoffMs: 20,
  ...more,
});

beforeEach(async () => {
  await cluster.sql(cluster.primary, "TRUNCATE t");
  await cluster.caughtUp();
  lb = await createLoadBalancer(options());
  await allUsable(lb);
  return async () => await lb.close();
});

const active = async (server: PostgresServer, pattern: string) =>
  await cluster.sql(
    server,
    `SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE '${pattern}' AND pid <> pg_backend_pid()`,
  );
const pidOnPrimary = async (tested: LoadBalancer) =>
  (await tested.usePrimary(() => tested.query<{ pid: number }>("SELECT pg_backend_pid() AS pid"))).rows[0]?.pid as number;

describe("a statement that nobody waits for any more", () => {
  test.each(["primary", "replica"] as const)("is stopped on the %s, and its connection is not used again", async (role) => {
    const server = role === "primary" ? cluster.primary : replica;
    const controller = new AbortController();
    const work = () => lb.query("SELECT pg_sleep(61)", [], { signal: controller.signal });
    const running = failureOf(role === "primary" ? lb.usePrimary(work) : work());
    await until("the statement runs", async () => (await active(server, "%sleep(61)%")).length === 1);
    const [before] = await active(server, "%sleep(61)%");
    controller.abort(new CodedError("cancelled", "enough"));
    expect((await running).code).toBe("cancelled");
    await until("the statement has ended", async () => (await active(server, "%sleep(61)%")).length === 0);
    expect(await pidOnPrimary(lb)).not.toBe(before?.["pid"]);
  });

  test("does not keep a load balancer from closing", async () => {
    await using other = await createLoadBalancer(options());
    const controller = new AbortController();
    const running = failureOf(other.query("SELECT pg_sleep(62)", [], { signal: controller.signal }));
    await until("the statement runs", async () => (await active(replica, "%sleep(62)%")).length === 1);
    controller.abort(new CodedError("cancelled", "enough"));
    await running;
    await other.close();
    await until("the statement has ended", async () => (await active(replica, "%sleep(62)%")).length === 0);
  });
});

describe("a connection of one's own on which a statement is given up", () => {
  const closed = { code: "failed_precondition", message: expect.stringContaining("was given up") };
  /** Runs a statement on the connection and aborts it once the server has it. */
  const givenUp = async (query: (text: string, values: [], options: { signal: AbortSignal }) => Promise<unknown>) => {
    const controller = new AbortController();
    const running = failureOf(query("SELECT pg_sleep(63)", [], { signal: controller.signal }));
    await until("the statement runs", async () => (await active(cluster.primary, "%sleep(63)%")).length === 1);
    controller.abort(new CodedError("cancelled", "enough"));
    expect((await running).code).toBe("cancelled");
  };

  test("is closed: what stops the statement at the server must not stop the next one", async () => {
    await lb.connection(async (connection) => {
      await givenUp(connection.query);
      expect(await failureOf(connection.query("INSERT INTO t VALUES (1)"))).toMatchObject(closed);
      expect(await failureOf(lb.query("SELECT 1"))).toMatchObject(closed);
      expect(await failureOf(lb.transaction((tx) => tx.query("INSERT INTO t VALUES (2)")))).toMatchObject(closed);
    });
    expect((await lb.usePrimary(() => lb.query("SELECT id FROM t"))).rows).toEqual([]);
  });

  test("is closed with a transaction of which nothing is committed, nor anything of what comes after it", async () => {
    await lb.connection(async (connection) => {
      const aborted = lb.transaction(async (tx) => {
        await tx.query("INSERT INTO t VALUES (1)");
        await tx.query("SAVEPOINT mine");
        await givenUp(tx.query);
        throw new CodedError("cancelled", "enough");
      });
      expect(await failureOf(aborted)).toMatchObject({ code: "cancelled" });
      expect(await failureOf(connection.query("ROLLBACK TO SAVEPOINT mine"))).toMatchObject(closed);
      expect(await failureOf(lb.transaction((tx) => tx.query("INSERT INTO t VALUES (2)")))).toMatchObject(closed);
    });
    expect((await lb.usePrimary(() => lb.query("SELECT id FROM t"))).rows).toEqual([]);
  });

  test("stays open where the statement was never sent", async () => {
    await lb.connection(async (connection) => {
      const controller = new AbortController();
      const first = connection.query("SELECT pg_sleep(0.2)");
      const waiting = failureOf(connection.query("INSERT INTO t VALUES (1)", [], { signal: controller.signal }));
      controller.abort(new CodedError("cancelled", "enough"));
      expect((await waiting).code).toBe("cancelled");
      await first;
      await connection.query("INSERT INTO t VALUES (2)");
    });
    expect((await lb.usePrimary(() => lb.query("SELECT id FROM t"))).rows).toEqual([{ id: 2 }]);
  });
});

test("a statement that waits its turn on a connection of one's own is not undone with a transaction that begins after it", async () => {
  await lb.connection(async (connection) => {
    const first = connection.query("SELECT pg_sleep(0.2)");
    const insert = connection.query("INSERT INTO t VALUES (1)");
    const undone = lb.transaction(async (tx) => {
      await tx.query("INSERT INTO t VALUES (2)");
      await lb.transaction((inner) => inner.query("INSERT INTO t VALUES (3)"));
      throw new CodedError("cancelled", "enough");
    });
    expect((await failureOf(undone)).code).toBe("cancelled");
    await Promise.all([first, insert]);
  });
  expect((await lb.usePrimary(() => lb.query("SELECT id FROM t"))).rows).toEqual([{ id: 1 }]);
});

test("a backend that stops answering costs its connection, not the next query", async () => {
  // Case 38: the client gives up a second after the server should have.
  await using tested = await createLoadBalancer(options({ statementTimeoutMs: 100, primaryAttempts: 1 }));
  const pid = await pidOnPrimary(tested);
  process.kill(pid, "SIGSTOP");
  try {
    const failure = await failureOf(tested.usePrimary(() => tested.query("SELECT 1")));
    expect(failure).toMatchObject({ code: "database_unavailable", cause: { message: "Query read timeout" } });
    expect(await pidOnPrimary(tested)).not.toBe(pid);
  } finally {
    process.kill(pid, "SIGCONT");
  }
});

test("a server that hangs does not keep a load balancer from closing", async () => {
  const applicationName = "closed while it hangs";
  const tested = await createLoadBalancer({ ...options(), replicas: [], applicationName });
  await pidOnPrimary(tested);
  const backends = await cluster.sql(cluster.primary, `SELECT pid FROM pg_stat_activity WHERE application_name LIKE '${applicationName}%'`);
  const signal = (name: NodeJS.Signals) => backends.forEach(({ pid }) => void process.kill(pid as number, name));
  // The pool's connection, and the one of the checks.
  expect(backends).toHaveLength(2);
  signal("SIGSTOP");
  try {
    await tested.close();
  } finally {
    signal("SIGCONT");
  }
});

test("a server that ends connections before they stand has done nothing of a write", async () => {
  await using front = await startTcpFront(1);
  await using tested = await createLoadBalancer({ ...options({ primaryAttempts: 2 }), primary: `postgres://u@127.0.0.1:${front.port}/x` });
  const failure = await failureOf(tested.query("INSERT INTO t VALUES (1)"));
  expect(failure).toMatchObject({ code: "database_unavailable", fields: { reason: "connect_failed" } });
});

test("what a connection of one's own has prepared may write, so that the session follows it", async () => {
  const readsAt = async (work: (connection: { query(text: string): Promise<unknown> }) => Promise<unknown>) =>
    await lb.session(async () => {
      await lb.connection(work);
      const { rows } = await lb.query<{ standby: boolean }>("SELECT pg_is_in_recovery() AS standby");
      return rows[0]?.standby ? "replica" : "primary";
    });
  expect(await readsAt((one) => one.query("SET work_mem = '1MB'"))).toBe("replica");
  expect(
    await readsAt(async (one) => {
      await one.query("PREPARE w AS INSERT INTO t VALUES ($1)");
      await one.query("EXECUTE w(1)");
    }),
  ).toBe("primary");
  await cluster.sql(
    cluster.primary,
    "CREATE OR REPLACE FUNCTION writes(n int) RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (n) RETURNING id'",
  );
  expect(await readsAt((one) => one.query("DECLARE c CURSOR WITH HOLD FOR SELECT writes(2)"))).toBe("primary");
  expect(await cluster.sql(cluster.primary, "SELECT id FROM t ORDER BY id")).toEqual([{ id: 1 }, { id: 2 }]);
});

describe("a text that leaves a transaction open", () => {
  // Case 54
  test.each(["BEGIN; INSERT INTO t VALUES (1)", "BEGIN; SELECT 1/0", "START TRANSACTION"])(
    "(%s) does not reach the next user",
    async (text) => {
      const direct = new Host("primary", { url: cluster.primary.url, name: "direct" }, defaultHostOptions, {
        clock: systemClock,
        logger: silentLogger,
      });
      await direct.query(text, undefined, { discard: false, prepare: false }, neverAborted).catch(() => {});
      const { rows } = await direct.query("SELECT id FROM t", undefined, { discard: false, prepare: false }, neverAborted);
      expect(rows).toEqual([]);
      // A connection that is closed takes the server a moment to notice.
      const open = "SELECT pid FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'";
      await until("no transaction is left open", async () => (await cluster.sql(cluster.primary, open)).length === 0);
      await direct.close();
    },
  );

  test.each([
    ["late", 5000],
    ["too late", 400],
  ])("does not reach the next user either where the server says %s that the transaction has failed", async (_when, connectTimeoutMs) => {
    const failed = Buffer.of(0x5a, 0, 0, 0, 5, 0x45);
    const late = (chunk: Buffer) => (chunk.subarray(-failed.length).equals(failed) ? failed.length : 0);
    await using front = await startTcpFront(Number(new URL(cluster.primary.url).port), { late });
    const url = new URL(cluster.primary.url);
    url.host = `127.0.0.1:${front.port}`;
    const options = { ...defaultHostOptions, connectTimeoutMs };
    const slow = new Host("primary", { url: url.href, name: "slow" }, options, { clock: systemClock, logger: silentLogger });
    await expect(slow.query("BEGIN; SELECT 1/0", undefined, { discard: false, prepare: false }, neverAborted)).rejects.toThrow(
      "division by zero",
    );
    expect((await slow.query("SELECT id FROM t", undefined, { discard: false, prepare: false }, neverAborted)).rows).toEqual([]);
    await slow.close();
  });
});

test("a replica that ends a connection to keep up with its primary fails that transaction alone", async () => {
  // Case 32, FATAL
  const standby = async () => (await lb.query<{ r: boolean }>("SELECT pg_is_in_recovery() AS r")).rows[0]?.r;
  const failure = await failureOf(
    lb.transaction({ readOnly: true }, async (tx) => {
      const { rows } = await tx.query<{ pid: number }>("SELECT pg_backend_pid() AS pid, count(*) FROM t");
      await cluster.sql(cluster.primary, "TRUNCATE t");
      await until(
        "the backend is gone",
        async () => (await cluster.sql(replica, `SELECT FROM pg_stat_activity WHERE pid = ${rows[0]?.pid}`)).length === 0,
      );
      await tx.query("SELECT 1");
    }),
  );
  expect(failure.code).toBe("database_unavailable");
  expect(await standby()).toBe(true);
});

describe("a transaction that the primary cancels for another one's sake", () => {
  const conflicting = (given: { retryTransaction?: boolean }) => {
    let tries = 0;
    const work = lb.transaction({ ...given, isolationLevel: "serializable" }, async (tx) => {
      tries++;
      await tx.query("SELECT count(*) FROM t");
      // Another one that reads and writes the same way, on the first try only.
      if (tries === 1) {
        await cluster.sql(cluster.primary, "BEGIN ISOLATION LEVEL SERIALIZABLE; INSERT INTO t SELECT 100 + count(*) FROM t; COMMIT");
      }
      await tx.query("INSERT INTO t SELECT 200 + count(*) FROM t");
      return tries;
    });
    return work;
  };

  // Case 33
  test("fails with the server's error", async () => {
    await expect(conflicting({})).rejects.toMatchObject({ code: "40001" });
  });

  test("is run again as a whole where it says that it may be", async () => {
    expect(await conflicting({ retryTransaction: true })).toBe(2);
    expect(await cluster.sql(cluster.primary, "SELECT id FROM t ORDER BY id")).toEqual([{ id: 100 }, { id: 201 }]);
  });
});
