import { beforeAll, describe, expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer } from "../../src/db/index.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { peerSuite } from "../support/peer-suite.ts";
import { pgbouncerMissing, startPgbouncer } from "../support/pgbouncer.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { until } from "../support/until.ts";

const { missing, required } = peerSuite("db-pgbouncer-roles", pgbouncerMissing());
if (missing !== undefined && required) {
  test("the peer of this suite is installed", () => {
    expect(missing).toBeUndefined();
  });
}

describe.skipIf(missing !== undefined)("servers that are each behind a PgBouncer of their own", () => {
  let cluster: PostgresCluster;
  let standby: PostgresServer;
  beforeAll(async () => {
    cluster = await startPostgresCluster({ replicas: 1 });
    [standby] = cluster.replicas as [PostgresServer];
    await cluster.sql(
      cluster.primary,
      `CREATE TABLE t (id int);
       CREATE FUNCTION writes(n int) RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (n) RETURNING id'`,
    );
    await cluster.caughtUp();
    return async () => await cluster[Symbol.asyncDispose]();
  });

  const standbyIn = async (lb: LoadBalancer) =>
    (await lb.query<{ standby: boolean }>("SELECT pg_is_in_recovery() AS standby")).rows[0]?.standby;
  const tries = (work: () => Promise<unknown>) =>
    work().then(
      () => true,
      () => false,
    );
  const roles = (lb: LoadBalancer) => lb.status.map(({ host, role, usable }) => [Number(host.split(":")[1]), role, usable]);

  test("have the roles they say they have, before and after a promotion", async () => {
    await using first = await startPgbouncer({ serverPort: cluster.primary.port });
    await using second = await startPgbouncer({ serverPort: standby.port });
    await using lb = await createLoadBalancer({
      ...patientDatabase,
      primary: first.url,
      replicas: [second.url],
      replicaCheckIntervalMs: 200,
      primaryBackoffMs: 50,
    });
    await allUsable(lb);
    expect(roles(lb)).toEqual([
      [first.port, "primary", true],
      [second.port, "replica", true],
    ]);
    expect(await standbyIn(lb)).toBe(true);
    await lb.query("INSERT INTO t VALUES (1)");
    // What a replica refuses is written, once, and the replica stays.
    expect((await lb.query("SELECT writes(2) AS n", [], { hint: "read" })).rows).toEqual([{ n: 2 }]);
    expect(await cluster.sql(cluster.primary, "SELECT id FROM t ORDER BY id")).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await standbyIn(lb)).toBe(true);

    await cluster.caughtUp();
    await cluster.primary.shutDown();
    await standby.promote();
    // The pooler goes on to say of new connections what it was told when it first came to the standby.
    const written = () => tries(() => lb.query("INSERT INTO t VALUES (3)"));
    await until("writes go to the promoted one", written, 60_000);
    await cluster.primary.follow(standby);
    await cluster.primary.start();
    await until("the old primary is a replica", () => lb.status.every(({ usable }) => usable), 60_000);
    expect(roles(lb)).toEqual([
      [second.port, "primary", true],
      [first.port, "replica", true],
    ]);
    await until("it is read from", async () => (await standbyIn(lb)) === true);
  });
});
