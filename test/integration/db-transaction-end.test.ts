import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/base/index.ts";
import { createLoadBalancer, type LoadBalancer, type TransactionHandle } from "../../src/db/index.ts";
import { MemoryStickingStore } from "../../src/db/sticking/memory-sticking-store.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let lb: LoadBalancer;
let noted: string[];

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  await cluster.sql(
    cluster.primary,
    `CREATE TABLE t (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED);
     CREATE FUNCTION writes(n int) RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (n) RETURNING id';
     CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(new.ms / 1000.0); RETURN new; END';
     CREATE TABLE slow (ms int);
     CREATE CONSTRAINT TRIGGER late AFTER INSERT ON slow INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle();`,
  );
  return async () => await cluster[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await cluster.sql(cluster.primary, "TRUNCATE t, slow");
  await cluster.caughtUp();
  noted = [];
  lb = await open(30_000);
  return async () => await lb.close();
});

async function open(statementTimeoutMs: number): Promise<LoadBalancer> {
  const store = new MemoryStickingStore({}, { clock: systemClock });
  const write: typeof store.write = async (keys, position) => {
    noted.push(...keys);
    await store.write(keys, position);
  };
  const opened = await createLoadBalancer({
    ...patientDatabase,
    primary: cluster.primary.url,
    replicas: cluster.replicas.map((replica) => replica.url),
    statementTimeoutMs,
    sticking: { store: { read: (keys) => store.read(keys), release: (key, seen) => store.release(key, seen), write } },
  });
  await allUsable(opened);
  return opened;
}

type Work = (tx: TransactionHandle, stop: AbortController) => Promise<unknown>;

/** How a transaction ended, and where its session reads afterwards. */
async function outcomeOf(work: Work, balancer = lb) {
  const stop = new AbortController();
  return await balancer.session({ stick: [["user", 1]] }, async () => {
    const failure = await balancer.transaction({ signal: stop.signal }, (tx) => work(tx, stop)).then(() => undefined, asFailure);
    const { rows } = await balancer.query<{ standby: boolean }>("SELECT pg_is_in_recovery() AS standby");
    return { failure, readsAt: rows[0]?.standby ? "replica" : "primary" };
  });
}

const asFailure = (error: Error & { code?: string }) => error.code ?? error.message;
const stored = async (table = "t") => await cluster.sql(cluster.primary, `SELECT * FROM ${table}`);
const committing = "FROM pg_stat_activity WHERE state = 'active' AND query = 'COMMIT'";

test("what is committed sticks, for the session and for its keys", async () => {
  expect(await outcomeOf((tx) => tx.query("INSERT INTO t VALUES (1)"))).toEqual({ failure: undefined, readsAt: "primary" });
  expect(noted).toEqual(["main/user/1"]);
});

describe("what is known to be rolled back at its end sticks to nothing:", () => {
  const cases: readonly [string, string, Work][] = [
    ["a constraint that COMMIT finds broken", "23505", (tx) => tx.query("INSERT INTO t VALUES (1), (1)")],
    [
      "a failed statement that was swallowed",
      "failed_precondition",
      async (tx) => {
        await tx.query("INSERT INTO t VALUES (1)");
        await tx.query("SELECT nothing").catch(asFailure);
      },
    ],
    [
      "an abort before COMMIT",
      "enough",
      async (tx, stop) => {
        await tx.query("INSERT INTO t VALUES (1)");
        stop.abort(new Error("enough"));
      },
    ],
    [
      "a connection that was lost before COMMIT",
      "database_unavailable",
      async (tx) => {
        const { rows } = await tx.query<{ pid: number }>("INSERT INTO t VALUES (1) RETURNING pg_backend_pid() AS pid");
        await cluster.sql(cluster.primary, `SELECT pg_terminate_backend(${rows[0]?.pid}, 5000)`);
        await tx.query("SELECT 1").catch(asFailure);
      },
    ],
  ];
  test.each(cases)("%s (%s)", async (_what, failure, work) => {
    expect(await outcomeOf(work)).toEqual({ failure, readsAt: "replica" });
    expect(noted).toEqual([]);
    expect(await stored()).toEqual([]);
  });

  test("a COMMIT that somebody cancels at the server", async () => {
    const running = outcomeOf((tx) => tx.query("INSERT INTO slow VALUES (20000)"));
    const cancel = `SELECT pg_cancel_backend(pid) ${committing}`;
    await until("the server commits", async () => (await cluster.sql(cluster.primary, cancel)).length === 1);
    expect(await running).toEqual({ failure: "57014", readsAt: "replica" });
    expect(noted).toEqual([]);
    expect(await stored("slow")).toEqual([]);
  });
});

describe("what may or may not be committed is called so, and sticks:", () => {
  test("a connection that is lost during COMMIT", async () => {
    const running = outcomeOf((tx) => tx.query("INSERT INTO slow VALUES (20000)"));
    const terminate = `SELECT pg_terminate_backend(pid) ${committing}`;
    await until("the server commits", async () => (await cluster.sql(cluster.primary, terminate)).length === 1);
    expect(await running).toEqual({ failure: "outcome_unknown", readsAt: "primary" });
    expect(noted).toEqual(["main/user/1"]);
  });

  test("a server that does not answer COMMIT", async () => {
    await using hasty = await open(200);
    const running = outcomeOf((tx) => tx.query("INSERT INTO slow VALUES (150)"), hasty);
    const pids = async () => (await cluster.sql(cluster.primary, `SELECT pid ${committing}`)).map((row) => row["pid"] as number);
    const stopped = new Set<number>();
    await until("the server commits", async () => {
      for (const pid of await pids()) if (!stopped.has(pid) && process.kill(pid, "SIGSTOP")) stopped.add(pid);
      return stopped.size > 0;
    });
    try {
      expect(await running).toEqual({ failure: "outcome_unknown", readsAt: "primary" });
    } finally {
      for (const pid of stopped) process.kill(pid, "SIGCONT");
    }
    expect(noted).toEqual(["main/user/1"]);
  });

  test("an abort during COMMIT", async () => {
    const stopped = new AbortController();
    const running = outcomeOf(async (tx, stop) => {
      stopped.signal.addEventListener("abort", () => stop.abort(new Error("enough")));
      await tx.query("INSERT INTO slow VALUES (20000)");
    });
    await until("the server commits", async () => (await cluster.sql(cluster.primary, `SELECT ${committing}`)).length === 1);
    stopped.abort();
    expect(await running).toEqual({ failure: "outcome_unknown", readsAt: "primary" });
    expect(noted).toEqual(["main/user/1"]);
  });

  test("a COMMIT inside a text that cannot be judged; nothing that follows runs on its own", async () => {
    const long = (text: string) => `${text} /* ${"x".repeat(70_000)} */`;
    const later: unknown[] = [];
    const outcome = await outcomeOf(async (tx) => {
      await tx.query("INSERT INTO t VALUES (1)");
      later.push(await tx.query(long("COMMIT; SELECT 1/0")).catch(asFailure));
      later.push(await tx.query("INSERT INTO t VALUES (2)").catch(asFailure));
    });
    expect(later).toEqual(["22012", "failed_precondition"]);
    expect(outcome).toEqual({ failure: "failed_precondition", readsAt: "primary" });
    expect(noted).toEqual(["main/user/1"]);
    expect(await stored()).toEqual([{ id: 1 }]);
  });
});

test("a savepoint whose first statement moves to another server is there, too", async () => {
  await lb.fallbackToReplicasForAmbiguousQueries(() =>
    lb.transaction(async (tx) => {
      await lb.transaction(async (nested) => void (await nested.query("SELECT writes(1)")));
      const inner = lb.transaction(async (nested) => {
        await nested.query("INSERT INTO t VALUES (2)");
        throw new Error("undo");
      });
      await expect(inner).rejects.toThrow("undo");
      await tx.query("INSERT INTO t VALUES (3)");
    }),
  );
  expect(await stored()).toEqual([{ id: 1 }, { id: 3 }]);
});
