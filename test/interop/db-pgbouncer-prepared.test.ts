import { beforeAll, describe, expect, test } from "vitest";
import { createLoadBalancer } from "../../src/db/index.ts";
import type { Logger } from "../../src/observability/index.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { peerSuite } from "../support/peer-suite.ts";
import { pgbouncerMissing, startPgbouncer } from "../support/pgbouncer.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";

const { missing, required } = peerSuite("db-pgbouncer-prepared", pgbouncerMissing());
if (missing !== undefined && required) {
  test("the peer of this suite is installed", () => {
    expect(missing).toBeUndefined();
  });
}

describe.skipIf(missing !== undefined)("behind a PgBouncer that lends its connections by transaction", () => {
  let cluster: PostgresCluster;
  beforeAll(async () => {
    cluster = await startPostgresCluster({ replicas: 0 });
    await cluster.sql(cluster.primary, "CREATE TABLE t (id int)");
    return async () => await cluster[Symbol.asyncDispose]();
  });

  test("statements that would be prepared do not fail, and none runs twice", async () => {
    await using pooler = await startPgbouncer({ serverPort: cluster.primary.port });
    const warnings: string[] = [];
    const logger = { debug: () => {}, info: () => {}, error: () => {}, warn: (text: string) => void warnings.push(text) };
    const options = { ...patientDatabase, primary: pooler.url, prepareAfter: 1 };
    await using lb = await createLoadBalancer(options, { logger: logger as unknown as Logger });
    await allUsable(lb);
    let next = 0;
    const caller = async () => {
      while (next < 400) {
        const id = next++;
        await lb.query("INSERT INTO t VALUES ($1)", [id]);
        expect((await lb.query("SELECT count(*)::int AS n FROM t WHERE id = $1", [id])).rows).toEqual([{ n: 1 }]);
      }
    };
    await Promise.all(Array.from({ length: 8 }, caller));
    expect(await cluster.sql(cluster.primary, "SELECT count(*)::int AS n, count(DISTINCT id)::int AS d FROM t")).toEqual([
      { n: 400, d: 400 },
    ]);
    expect(warnings).toEqual(["statements are prepared no longer: a pooler shares its connections"]);
  });
});
