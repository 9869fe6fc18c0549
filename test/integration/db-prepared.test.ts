import { beforeAll, expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer } from "../../src/db/index.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";

let cluster: PostgresCluster;
let replica: PostgresServer;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  replica = cluster.replicas[0] as PostgresServer;
  return async () => await cluster[Symbol.asyncDispose]();
});

/** One connection to each server, so that what was prepared can be asked for. */
async function balancer({ prepareAfter = 2, maxPrepared = 256, warnings = [] as string[] } = {}): Promise<LoadBalancer> {
  const logger = { debug: () => {}, info: () => {}, error: () => {}, warn: (text: string) => void warnings.push(text) };
  const options = { ...patientDatabase, primary: cluster.primary.url, replicas: [replica.url], poolSize: 1, prepareAfter, maxPrepared };
  const lb = await createLoadBalancer(options, { logger: logger as never });
  await allUsable(lb);
  return lb;
}

const listing = "SELECT statement FROM pg_prepared_statements WHERE from_sql IS FALSE AND statement NOT LIKE '%pg_prepared_statements%'";
const preparedOnReplica = async (lb: LoadBalancer) => (await lb.query(`${listing} ORDER BY 1`)).rows.map(({ statement }) => statement);
const preparedOnPrimary = (lb: LoadBalancer) => lb.usePrimary(() => preparedOnReplica(lb));
const times = async (count: number, work: () => Promise<unknown>) => {
  for (let i = 0; i < count; i++) await work();
};

async function table(name: string, columns: string): Promise<void> {
  await cluster.sql(cluster.primary, `CREATE TABLE ${name} (${columns})`);
  await cluster.caughtUp();
}

test("by default nothing is prepared", async () => {
  await using lb = await createLoadBalancer({ ...patientDatabase, primary: cluster.primary.url, replicas: [replica.url], poolSize: 1 });
  await allUsable(lb);
  await times(10, () => lb.query("SELECT $1::int AS n", [1]));
  expect(await preparedOnReplica(lb)).toEqual([]);
});

test("a read and a write that run often are prepared where they run, and give what they gave before", async () => {
  await table("often", "id int PRIMARY KEY, v text");
  await using lb = await balancer();
  const read = "SELECT count(*)::int AS n FROM often WHERE id > $1";
  const write = "INSERT INTO often VALUES ($1, $2)";
  for (let i = 1; i <= 2; i++) {
    await lb.query(write, [i, "v"]);
    expect((await lb.usePrimary(() => lb.query(read, [0]))).rows).toEqual([{ n: i }]);
  }
  expect(await preparedOnPrimary(lb)).toEqual([]);
  for (let i = 3; i <= 5; i++) {
    expect((await lb.query(write, [i, "v"])).rowCount).toBe(1);
    expect((await lb.usePrimary(() => lb.query(read, [0]))).rows).toEqual([{ n: i }]);
  }
  expect(await preparedOnPrimary(lb)).toEqual([write, read]);
  await cluster.caughtUp();
  await times(3, async () => expect((await lb.query(read, [1])).rows).toEqual([{ n: 4 }]));
  expect(await preparedOnReplica(lb)).toEqual([read]);
  // Its own failures are passed on, and the next one goes on.
  await expect(lb.query(write, [5, "v"])).rejects.toMatchObject({ code: "23505" });
  expect((await lb.query(write, [6, "v"])).rowCount).toBe(1);
});

test("a statement without parameters is prepared on a replica, and in transactions nothing is", async () => {
  await using lb = await balancer();
  await times(4, () => lb.query("SELECT 7 AS n"));
  await times(4, () => lb.transaction({ readOnly: true }, (tx) => tx.query("SELECT $1::int AS n", [1])));
  await times(4, () => lb.usePrimary(() => lb.query("SELECT 7 AS n")));
  expect(await preparedOnReplica(lb)).toEqual(["SELECT 7 AS n"]);
  expect(await preparedOnPrimary(lb)).toEqual([]);
});

test("a table that is changed changes the answer, without an error", async () => {
  await table("changing", "id int");
  await cluster.sql(cluster.primary, "INSERT INTO changing VALUES (1)");
  await cluster.caughtUp();
  const warnings: string[] = [];
  await using lb = await balancer({ warnings });
  const read = "SELECT * FROM changing WHERE id = $1";
  const write = "UPDATE changing SET id = id WHERE id = $1 RETURNING *";
  await times(4, () => lb.query(read, [1]));
  await times(4, () => lb.query(write, [1]));
  expect([await preparedOnReplica(lb), await preparedOnPrimary(lb)]).toEqual([[read], [write]]);
  const connections = async () => {
    const pid = () => lb.query<{ pid: number }>("SELECT pg_backend_pid() AS pid").then(({ rows }) => rows[0]?.pid);
    return [await pid(), await lb.usePrimary(pid)];
  };
  const before = await connections();
  await cluster.sql(cluster.primary, "ALTER TABLE changing ADD COLUMN v int DEFAULT 5");
  await cluster.caughtUp();
  await times(4, async () => expect((await lb.query(read, [1])).rows).toEqual([{ id: 1, v: 5 }]));
  await times(4, async () => expect((await lb.query(write, [1])).rows).toEqual([{ id: 1, v: 5 }]));
  // On new connections, for the old ones were closed.
  for (const pid of await connections()) expect(before).not.toContain(pid);
  expect([await preparedOnReplica(lb), await preparedOnPrimary(lb)]).toEqual([[read], [write]]);
  expect(warnings).toEqual([]);
});

test("what was prepared and is gone, as behind a pooler, is not missed: from then on nothing is prepared", async () => {
  await table("gone", "id int");
  const warnings: string[] = [];
  await using lb = await balancer({ warnings });
  const write = "INSERT INTO gone VALUES ($1)";
  await times(4, () => lb.query(write, [1]));
  expect(await preparedOnPrimary(lb)).toEqual([write]);
  // Of this nothing is known to the load balancer.
  await cluster.sql(cluster.primary, "CREATE FUNCTION forget() RETURNS int LANGUAGE plpgsql AS 'BEGIN DEALLOCATE ALL; RETURN 1; END'");
  await lb.query("SELECT forget()");
  await times(3, async () => expect((await lb.query(write, [2])).rowCount).toBe(1));
  expect((await cluster.sql(cluster.primary, "SELECT count(*)::int AS n FROM gone"))[0]).toEqual({ n: 7 });
  expect(await preparedOnPrimary(lb)).toEqual([]);
  expect(warnings).toEqual(["statements are prepared no longer: a pooler shares its connections"]);
  // The other server's are.
  await times(3, () => lb.query("SELECT $1::int AS n", [1]));
  expect(await preparedOnReplica(lb)).toEqual(["SELECT $1::int AS n"]);
});

test("a name that somebody else has prepared on the connection is no failure", async () => {
  await using lb = await balancer();
  await using other = await balancer();
  const read = "SELECT $1::int + 1 AS n";
  await times(3, () => other.query(read, [1]));
  const [{ name }] = (await other.query<{ name: string }>("SELECT name FROM pg_prepared_statements WHERE statement = $1", [read])).rows as [
    { name: string },
  ];
  await cluster.sql(
    cluster.primary,
    `CREATE FUNCTION occupy() RETURNS int LANGUAGE plpgsql AS $f$BEGIN EXECUTE 'PREPARE ${name} AS SELECT 99'; RETURN 1; END$f$`,
  );
  await lb.query("SELECT occupy()");
  const values = [];
  for (let i = 0; i < 4; i++) values.push((await lb.usePrimary(() => lb.query(read, [1]))).rows[0]?.["n"]);
  expect(values).toEqual([2, 2, 2, 2]);
});

test("no more are prepared on a connection than allowed", async () => {
  await using lb = await balancer({ maxPrepared: 2 });
  for (const n of [1, 2, 3, 4])
    await times(4, async () => expect((await lb.query(`SELECT $1::int + ${n} AS n`, [1])).rows).toEqual([{ n: 1 + n }]));
  expect(await preparedOnReplica(lb)).toHaveLength(2);
});

test("texts that are parsed and then fail take a place, too", async () => {
  await using lb = await balancer({ maxPrepared: 2 });
  for (let k = 0; k < 5; k++) await times(4, () => lb.query(`SELECT ${k} / $1::int AS failing`, [0]).catch(() => {}));
  expect(await preparedOnReplica(lb)).toHaveLength(2);
});

test.each(["a text", undefined])("a value whose own code throws %s fails its statement, and the next one goes on", async (thrown) => {
  await using lb = await balancer();
  const read = "SELECT $1::text AS v";
  const value = {
    toPostgres: () => {
      throw thrown;
    },
  };
  await times(4, () => lb.query(read, ["v"]));
  const outcome = await lb.query(read, [value]).then(
    () => "resolved",
    () => "rejected",
  );
  expect(outcome).toBe("rejected");
  expect((await lb.query(read, ["v"])).rows).toEqual([{ v: "v" }]);
});

test("no values may also be null, and a value too many is the statement's own fault", async () => {
  await using lb = await balancer({ prepareAfter: 0 });
  const none = null as unknown as undefined;
  expect((await lb.usePrimary(() => lb.query("SELECT 1 AS n", none))).rows).toEqual([{ n: 1 }]);
  expect((await lb.transaction((tx) => tx.query("SELECT 1 AS n", none))).rows).toEqual([{ n: 1 }]);
  for (let i = 0; i < 3; i++) await expect(lb.query("SELECT $1::int AS n", [1, 2])).rejects.toMatchObject({ code: "08P01" });
  expect(lb.status.map(({ usable }) => usable)).toEqual([true, true]);
});

test("what the server cannot parse takes no place, and is prepared once it can", async () => {
  await using lb = await balancer({ prepareAfter: 1, maxPrepared: 1 });
  const read = "SELECT count(*)::int AS n FROM late WHERE id > $1";
  for (let i = 0; i < 3; i++) await expect(lb.query(read, [0])).rejects.toMatchObject({ code: "42P01" });
  await table("late", "id int");
  await times(2, async () => expect((await lb.query(read, [0])).rows).toEqual([{ n: 0 }]));
  expect(await preparedOnReplica(lb)).toEqual([read]);
});

test("a procedure, which may commit a part of its work, is not prepared, nor is a very long text", async () => {
  await cluster.sql(cluster.primary, "CREATE PROCEDURE steps(n int) LANGUAGE plpgsql AS 'BEGIN COMMIT; END'");
  await using lb = await balancer({ prepareAfter: 1 });
  await times(4, () => lb.query("CALL steps($1)", [1]));
  await times(4, () => lb.query(`SELECT $1::int AS n /* ${"x".repeat(16 * 1024)} */`, [1]));
  expect([await preparedOnReplica(lb), await preparedOnPrimary(lb)]).toEqual([[], []]);
});

test("values that cannot be sent fail alone", async () => {
  const warnings: string[] = [];
  await using lb = await balancer({ warnings });
  const read = "SELECT $1::text AS v";
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  await times(4, () => lb.query(read, ["v"]));
  await expect(lb.query(read, [circular])).rejects.toThrow("circular");
  await times(4, async () => expect((await lb.query(read, ["v"])).rows).toEqual([{ v: "v" }]));
  expect(await preparedOnReplica(lb)).toEqual([read]);
  expect(warnings).toEqual([]);
});
