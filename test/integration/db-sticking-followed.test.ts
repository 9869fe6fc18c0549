import { beforeAll, beforeEach, expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import { createLoadBalancer, type LoadBalancer, type Position, type StickingStore } from "../../src/db/index.ts";
import { isReached, parsePosition } from "../../src/db/position/position.ts";
import { MemoryStickingStore } from "../../src/db/sticking/memory-sticking-store.ts";
import { allUsable, patientDatabase, patientSticking } from "../support/patient-database.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { SimClock } from "../support/sim-clock.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let first: PostgresServer;
let second: PostgresServer;
let store: StickingStore;
let lb: LoadBalancer;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 2 });
  [first, second] = cluster.replicas as [PostgresServer, PostgresServer];
  await cluster.sql(cluster.primary, "CREATE TABLE t (id int)");
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await cluster.sql(cluster.primary, "TRUNCATE t");
  await cluster.caughtUp();
  // Its clock stands still: nothing expires.
  store = new MemoryStickingStore({}, { clock: new SimClock() });
  lb = await balancer(store);
  return async () => await lb.close();
});

async function balancer(store: StickingStore): Promise<LoadBalancer> {
  const made = await createLoadBalancer({
    ...patientDatabase,
    primary: cluster.primary.url,
    replicas: [first.url, second.url],
    sticking: { ...patientSticking, store },
  });
  await allUsable(made);
  return made;
}

const port = async () => Number((await lb.query<{ port: string }>("SELECT current_setting('port') AS port")).rows[0]?.port);
const as = <T>(user: number, work: () => Promise<T>) => lb.session({ stick: [["user", user]] }, work);
const insert = async () => void (await lb.query("INSERT INTO t VALUES (1)"));
const rows = async () => (await lb.query("SELECT id FROM t")).rows.length;

/** Stops replay on the second replica while `work` runs, which finds a row on the first one. */
async function secondBehind(work: () => Promise<void>): Promise<void> {
  await cluster.sql(second, "SELECT pg_wal_replay_pause()");
  try {
    await as(1, insert);
    await until("the first replica has the row", async () => (await cluster.sql(first, "SELECT FROM t")).length === 1);
    await work();
  } finally {
    await cluster.sql(second, "SELECT pg_wal_replay_resume()");
    await cluster.caughtUp();
  }
}

// Case 14: also where the session has read before from a replica that lags, in a block that allows it.
test.each(["a statement", "a transaction"])(
  "reads outside of a block do not stay on the replica that the block was content with: %s",
  async (what) => {
    await secondBehind(async () => {
      await until("a block's read went to the replica that lags", () =>
        as(1, async () => {
          if ((await lb.useReplicasForReadQueries(port)) !== second.port) return false;
          expect(await (what === "a statement" ? rows() : lb.transaction({ readOnly: true }, rows))).toBe(1);
          return true;
        }),
      );
    });
  },
);

// Case 16: on its way from "all replicas have it" to the deletion.
test("a write that lands while a key is being released stays", async () => {
  await as(1, insert);
  await cluster.caughtUp();
  let newer: Position | undefined;
  const released: Position[] = [];
  const racing: StickingStore = {
    read: (keys, signal) => store.read(keys, signal),
    write: (keys, position, signal) => store.write(keys, position, signal),
    release: async (key, seen, signal) => {
      newer = { ...seen, lsn: seen.lsn + 1_000_000n };
      await store.write([key], newer, signal);
      await store.release(key, seen, signal);
      released.push(seen);
    },
  };
  await using other = await balancer(racing);
  await until("a read has released the key", async () => {
    await other.session({ stick: [["user", 1]] }, () => other.query("SELECT 1"));
    return released.length > 0;
  });
  expect(newer).toBeDefined();
  expect((await store.read(["main/user/1"], neverAborted))[0]).toEqual(newer);
  expect(await as(1, port)).toBe(cluster.primary.port);
});

// Case 19: a place that is taken in the statement, or before COMMIT, is reached by a replica that does not show the row yet.
test.each<[string, () => Promise<unknown>]>([
  ["a statement", () => lb.query("INSERT INTO t VALUES (1)")],
  ["a transaction", () => lb.transaction((tx) => tx.query("INSERT INTO t VALUES (1)"))],
  ["a connection", () => lb.connection((connection) => connection.query("INSERT INTO t VALUES (1)"))],
  ["several texts in one", () => lb.query("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")],
])("what is noted of %s is where the log ends after its commit", async (_what, work) => {
  const rounds = 20;
  let exact = 0;
  for (let user = 0; user < rounds; user++) {
    await as(user, work);
    const noted = (await store.read([`main/user/${user}`], neverAborted))[0] as Position;
    const [end] = await cluster.sql(cluster.primary, "SELECT (pg_current_wal_insert_lsn() - '0/0')::text AS bytes");
    if (noted.lsn === BigInt(String(end?.["bytes"]))) exact++;
  }
  // Now and then the server writes a line of its own in between.
  expect(exact).toBeGreaterThan(rounds / 2);
});

// Case 14, of a job that is queued there.
test("what is captured for a job is no older than what its session must see", async () => {
  await secondBehind(async () => {
    const noted = (await store.read(["main/user/1"], neverAborted))[0] as Position;
    await until("a block's read went to the replica that lags", () =>
      as(1, async () => {
        if ((await lb.useReplicasForReadQueries(port)) !== second.port) return false;
        const position = parsePosition((await lb.capture())["main"]?.position ?? "");
        expect(position && isReached(noted, position)).toBe(true);
        return true;
      }),
    );
  });
});

test("what is captured beside a first read is no older than what that read finds out", async () => {
  await secondBehind(async () => {
    const noted = (await store.read(["main/user/1"], neverAborted))[0] as Position;
    let answer = () => {};
    const waiting: StickingStore = {
      read: async (keys, signal) => {
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return await store.read(keys, signal);
      },
      write: (keys, position, signal) => store.write(keys, position, signal),
      release: (key, seen, signal) => store.release(key, seen, signal),
    };
    await using slow = await balancer(waiting);
    const portOf = "SELECT current_setting('port')::int AS port";
    await until("a block's read went to the replica that lags", () =>
      slow.session({ stick: [["user", 1]] }, async () => {
        const { rows } = await slow.useReplicasForReadQueries(() => slow.query<{ port: number }>(portOf));
        if (rows[0]?.port !== second.port) return false;
        const reading = slow.query("SELECT id FROM t");
        const capturing = slow.capture();
        answer();
        const position = parsePosition((await capturing)["main"]?.position ?? "");
        expect(position && isReached(noted, position)).toBe(true);
        expect((await reading).rows).toHaveLength(1);
        return true;
      }),
    );
  });
});
