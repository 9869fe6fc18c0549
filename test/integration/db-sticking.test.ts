import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import { createLoadBalancer, type LoadBalancer, type Position, type StickingStore } from "../../src/db/index.ts";
import { formatPosition } from "../../src/db/position/position.ts";
import { MemoryStickingStore } from "../../src/db/sticking/memory-sticking-store.ts";
import { failureOf } from "../support/failure-of.ts";
import { allUsable, patientDatabase, patientSticking } from "../support/patient-database.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { replayPaused } from "../support/replay-paused.ts";
import { SimClock } from "../support/sim-clock.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let replicas: readonly [PostgresServer, PostgresServer];
let lb: LoadBalancer;
let store: StickingStore;
const secret = "a secret for position tokens";

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 2 });
  replicas = cluster.replicas as unknown as [PostgresServer, PostgresServer];
  await cluster.sql(
    cluster.primary,
    `CREATE TABLE t (id int);
     CREATE FUNCTION reads(n int) RETURNS int LANGUAGE sql AS 'SELECT n';`,
  );
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
});

const options = () => ({ ...patientDatabase, primary: cluster.primary.url, replicas: cluster.replicas.map(({ url }) => url) });

beforeEach(async () => {
  await cluster.sql(cluster.primary, "TRUNCATE t");
  await cluster.caughtUp();
  // Its clock stands still: nothing expires.
  store = new MemoryStickingStore({}, { clock: new SimClock() });
  lb = await createLoadBalancer({ ...options(), sticking: { ...patientSticking, store, secret } });
  await allUsable(lb);
  return async () => await lb.close();
});

const port = async () => Number((await lb.query<{ port: string }>("SELECT current_setting('port') AS port")).rows[0]?.port);
const as = <T>(user: number, work: () => Promise<T>) => lb.session({ stick: [["user", user]] }, work);
const insert = async (id = 1) => void (await lb.query("INSERT INTO t VALUES ($1)", [id]));
const keyOf = async (user: number): Promise<Position | undefined> => (await store.read([`main/user/${user}`], neverAborted))[0];
const times = <T>(count: number, work: () => Promise<T>) => Promise.all(Array.from({ length: count }, work));
const ports = async (user: number) => new Set(await times(10, () => as(user, port)));

describe("reads of a key that has written", () => {
  // Cases 13, 14, B115; report: gitlab 413203
  test("go to the primary while no replica has it, then to the one that has, and are free when all have", async () => {
    await replayPaused(cluster, replicas, async () => {
      await as(1, async () => {
        await insert();
        expect(await port()).toBe(cluster.primary.port);
      });
      expect(await ports(1)).toEqual(new Set([cluster.primary.port]));
      expect((await ports(2)).has(cluster.primary.port)).toBe(false);
      await cluster.sql(replicas[0], "SELECT pg_wal_replay_resume()");
      await until("the replica has the row", async () => (await cluster.sql(replicas[0], "SELECT FROM t")).length === 1);
      expect(await ports(1)).toEqual(new Set([replicas[0].port]));
      expect(await keyOf(1)).toBeDefined();
    });
    await until("the key is released", async () => {
      await as(1, port);
      return (await keyOf(1)) === undefined;
    });
    expect((await ports(1)).has(cluster.primary.port)).toBe(false);
  });

  test("stay off a replica that is down until the key expires, since it would come back behind it", async () => {
    await as(1, insert);
    await cluster.caughtUp();
    await replicas[1].stop();
    try {
      expect(await ports(1)).toEqual(new Set([replicas[0].port]));
      expect(await keyOf(1)).toBeDefined();
    } finally {
      await replicas[1].start();
      await allUsable(lb);
    }
  });

  test("see it: an inserted row is there for the next session, a thousand times", async () => {
    // Case 19: the position is taken after the commit.
    for (let round = 0; round < 1000; round++) {
      await as(3, () => insert(round));
      const rows = await as(3, async () => (await lb.query("SELECT id FROM t WHERE id = $1", [round])).rows);
      if (rows.length !== 1) expect.fail(`row ${round} was not there`);
    }
  });

  test("of another timeline or system go to the primary until it expires", async () => {
    // Case 24, B119
    await as(1, insert);
    const position = (await keyOf(1)) as Position;
    await cluster.caughtUp();
    for (const other of [
      { ...position, timeline: position.timeline + 1 },
      { ...position, systemId: "1" },
    ]) {
      await store.write(["main/user/7"], { ...other, lsn: 1n }, neverAborted);
      expect(await ports(7)).toEqual(new Set([cluster.primary.port]));
      expect(await keyOf(7)).toBeDefined();
    }
  });

  test("follow the later of two keys", async () => {
    await as(1, insert);
    await cluster.caughtUp();
    await replayPaused(cluster, replicas, async () => {
      await as(2, insert);
      expect(await lb.session({ stick: [["user", 1]] }, port)).not.toBe(cluster.primary.port);
      expect(
        await lb.session(
          {
            stick: [
              ["user", 1],
              ["user", 2],
            ],
          },
          port,
        ),
      ).toBe(cluster.primary.port);
    });
  });

  test("stay where they are within a unit of work", async () => {
    await as(1, async () => {
      const first = await port();
      expect(new Set(await times(20, port))).toEqual(new Set([first]));
    });
  });

  test("of many keys are noted with one question to the primary", async () => {
    await insert();
    await lb.stick(Array.from({ length: 1000 }, (_, i) => ["user", i] as const));
    expect(await keyOf(0)).toBeDefined();
    expect(formatPosition((await keyOf(999)) as Position)).toBe(formatPosition((await keyOf(0)) as Position));
  });
});

describe("what a session wrote", () => {
  test("is noted when its function ends, also when it throws", async () => {
    const failure = await as(1, async () => {
      await insert();
      expect(await keyOf(1)).toBeUndefined();
      throw new Error("later");
    }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ message: "later" });
    expect(await keyOf(1)).toBeDefined();
  });

  test("is noted for every raw statement that is no plain read, and for committed transactions", async () => {
    // Case 26
    const writes: (() => Promise<unknown>)[] = [
      () => lb.query("INSERT INTO t VALUES (1) RETURNING id"),
      () => lb.query("SELECT id FROM t FOR UPDATE"),
      () => lb.query("SELECT reads(1)"),
      () => lb.transaction((tx) => tx.query("INSERT INTO t VALUES (1)")),
      () => lb.transaction(() => lb.query("SELECT 1")),
    ];
    for (const [user, write] of writes.entries()) {
      await as(user, async () => void (await write()));
      expect(await keyOf(user), `${write}`).toBeDefined();
    }
  });

  test("is nothing when it rolled back, only read, or asked to be ignored", async () => {
    // Case 20
    const nothing: (() => Promise<unknown>)[] = [
      () => lb.transaction((tx) => tx.query("INSERT INTO t VALUES (1)").then(() => Promise.reject(new Error("no")))).catch(() => {}),
      () => lb.query("SELECT 1"),
      () => lb.transaction({ readOnly: true }, (tx) => tx.query("SELECT 1")),
      () => lb.usePrimary(() => lb.query("SELECT 1")),
      () => lb.ignoreWrites(insert),
      () => Promise.resolve(),
    ];
    for (const [user, work] of nothing.entries()) {
      await as(user, async () => void (await work()));
      expect(await keyOf(user), `${work}`).toBeUndefined();
    }
  });

  test("is ignored by depth: the inner end of nested blocks does not end the outer one", async () => {
    // Case 21
    await replayPaused(cluster, replicas, async () => {
      await as(1, async () => {
        await lb.ignoreWrites(async () => {
          await lb.ignoreWrites(insert);
          await insert();
        });
        expect(await port()).not.toBe(cluster.primary.port);
      });
      expect(await keyOf(1)).toBeUndefined();
      await as(1, insert);
      expect(await keyOf(1)).toBeDefined();
    });
  });

  test("can still be read past on replicas, and sticks nevertheless", async () => {
    // Case 22
    await replayPaused(cluster, replicas, async () => {
      await as(1, async () => {
        await insert();
        await lb.useReplicasForReadQueries(async () => {
          expect(await port()).not.toBe(cluster.primary.port);
          await insert();
        });
        expect(await port()).toBe(cluster.primary.port);
      });
      expect(await keyOf(1)).toBeDefined();
    });
  });

  test("is nothing while the primary is away: those who read with the key go on on replicas", async () => {
    await using impatient = await createLoadBalancer({ ...options(), primaryAttempts: 1, sticking: { store } });
    await as(1, insert);
    await cluster.caughtUp();
    const before = await keyOf(1);
    await cluster.primary.stop();
    try {
      const write = impatient.session({ stick: [["user", 1]] }, () => impatient.query("INSERT INTO t VALUES (2)"));
      expect(await failureOf(write)).toMatchObject({ code: "database_unavailable" });
      expect(await keyOf(1)).toEqual(before);
      expect((await ports(1)).has(cluster.primary.port)).toBe(false);
    } finally {
      await cluster.primary.start();
    }
  });

  test("is noted when it comes after the end, too", async () => {
    let late: Promise<void> = Promise.resolve();
    await as(1, async () => {
      late = lb.query("SELECT pg_sleep(0.05)").then(() => insert());
    });
    expect(await keyOf(1)).toBeUndefined();
    await late;
    expect(await keyOf(1)).toBeDefined();
  });
});

test("a transaction that only reads follows the writes of its keys", async () => {
  const inTransaction = (user: number) => as(user, () => lb.transaction({ readOnly: true }, async () => await port()));
  await replayPaused(cluster, replicas, async () => {
    await as(1, insert);
    expect(await inTransaction(1)).toBe(cluster.primary.port);
    expect(await inTransaction(2)).not.toBe(cluster.primary.port);
  });
});

test("a session whose replica dies reads nothing older than it has seen", async () => {
  await replayPaused(cluster, [replicas[1]], async () => {
    await insert();
    await until("the replica has the row", async () => (await cluster.sql(replicas[0], "SELECT FROM t")).length === 1);
    // One that has read from the replica that is up to date.
    await until("the replica has reached it", () =>
      lb.session(async () => {
        if ((await port()) !== replicas[0].port) return false;
        expect((await lb.query("SELECT id FROM t")).rows).toHaveLength(1);
        await replicas[0].stop();
        expect((await lb.query("SELECT id FROM t")).rows).toHaveLength(1);
        expect(await port()).toBe(cluster.primary.port);
        return true;
      }),
    );
    await replicas[0].start();
    await allUsable(lb);
  });
});

describe("tokens that callers carry", () => {
  test("bring what was written to another process, without any store", async () => {
    await using other = await createLoadBalancer({ ...options(), sticking: { ...patientSticking, secret } });
    await allUsable(other);
    const portOf = async () => Number((await other.query<{ port: string }>("SELECT current_setting('port') AS port")).rows[0]?.port);
    await replayPaused(cluster, replicas, async () => {
      const token = await lb.session(async () => {
        await insert();
        return await lb.positionToken();
      });
      expect(token).toBeTypeOf("string");
      expect(await other.session({ token: token as string }, portOf)).toBe(cluster.primary.port);
      expect(await other.session({ token: ["nonsense", token as string] }, portOf)).toBe(cluster.primary.port);
      expect(await other.session({ token: `${token}x` }, portOf)).not.toBe(cluster.primary.port);
      const passedOn = await other.session({ token: token as string }, async () => await other.positionToken());
      expect(await other.session({ token: passedOn as string }, portOf)).toBe(cluster.primary.port);
    });
  });

  test("are nothing where nothing was written, and refused without a session or a secret", async () => {
    expect(await lb.session(async () => await lb.positionToken())).toBeUndefined();
    expect(await failureOf(lb.positionToken())).toMatchObject({ code: "failed_precondition" });
    expect(await failureOf(createLoadBalancer({ ...options(), sticking: { secret: "short" } }))).toMatchObject({ code: "bad_config" });
    await using other = await createLoadBalancer(options());
    expect(await failureOf(other.session(() => other.positionToken()))).toMatchObject({ code: "failed_precondition" });
  });
});

describe("a store that does not answer", () => {
  const broken: StickingStore = {
    read: () => new Promise(() => {}),
    write: () => Promise.reject(new Error("down")),
    release: () => Promise.reject(new Error("down")),
  };
  const times10 = (tested: LoadBalancer) =>
    times(10, () => tested.session({ stick: [["user", 1]] }, async () => (await tested.query("SELECT pg_is_in_recovery() AS r")).rows[0]));

  // Case 18
  test("sends the reads of keys to the primary after 50 ms, not later, and costs no error", async () => {
    // Time passes only as it is told to.
    const clock = new SimClock();
    await using tested = await createLoadBalancer(
      { ...options(), sticking: { ...patientSticking, storeTimeoutMs: 50, store: broken } },
      { clock },
    );
    await allUsable(tested);
    let answered = false;
    const reading = times10(tested).finally(() => {
      answered = true;
    });
    await clock.advance(49);
    await tested.query("SELECT 1");
    expect(answered).toBe(false);
    await clock.advance(1);
    expect(new Set((await reading).map((row) => row?.["r"]))).toEqual(new Set([false]));
    await tested.session({ stick: [["user", 1]] }, () => tested.query("INSERT INTO t VALUES (1)"));
    expect((await tested.session(() => tested.query("SELECT pg_is_in_recovery() AS r"))).rows).toEqual([{ r: true }]);
  });

  test("is ignored where the options say so", async () => {
    await using tested = await createLoadBalancer({
      ...options(),
      sticking: { ...patientSticking, storeTimeoutMs: 50, store: broken, onStoreFailure: "ignore" },
    });
    await allUsable(tested);
    expect(new Set((await times10(tested)).map((row) => row?.["r"]))).toEqual(new Set([true]));
  });
});

test("without replicas nobody is asked for a position and nothing is stored", async () => {
  // Case 51
  await using alone = await createLoadBalancer({ primary: cluster.primary.url, sticking: { store, secret } });
  await alone.session({ stick: [["user", 1]] }, async () => {
    await alone.query("INSERT INTO t VALUES (1)");
    expect(await alone.positionToken()).toBeUndefined();
    expect(await alone.capture()).toEqual({});
  });
  expect(await keyOf(1)).toBeUndefined();
});
