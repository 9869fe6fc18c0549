import { beforeAll, expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer } from "../../src/db/index.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";
import { startTcpFront } from "../support/tcp-front.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  await cluster.sql(cluster.primary, "CREATE TABLE t (id int)");
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
});

const aboutTheLog = /pg_\w*(wal|lsn|control|xact_replay|replication|subscription)/i;

/** Uses everything that could want to know how far a log is. */
async function useAll(lb: LoadBalancer): Promise<void> {
  await lb.session({ stick: [["user", 1]] }, async () => {
    await lb.query("INSERT INTO t VALUES (1)");
    await lb.transaction((tx) => tx.query("INSERT INTO t VALUES (2)"));
    await lb.query("SELECT id FROM t");
    await lb.positionToken();
    await lb.capture();
  });
  await lb.session({ stick: [["user", 1]] }, () => lb.query("SELECT id FROM t"));
  await lb.stick([["user", 2]]);
  const job = await lb.checkJob(await lb.capture(), { profile: "high" });
  await lb.session({ job }, () => lb.transaction({ readOnly: true }, (tx) => tx.query("SELECT id FROM t")));
}

// Case 51: services whose log nobody may ask about, such as Aurora.
test("without replicas no statement asks about the log, neither for checks nor for sticking", async () => {
  const chunks: string[] = [];
  const heard = () => chunks.join("");
  await using front = await startTcpFront(cluster.primary.port, { onHeard: (chunk) => void chunks.push(chunk.toString("latin1")) });
  const options = {
    ...patientDatabase,
    primary: cluster.primary.url.replace(`:${cluster.primary.port}/`, `:${front.port}/`),
    replicaCheckIntervalMs: 50,
    sticking: { secret: "a secret for position tokens" },
  };
  const checks = () => heard().split("pg_postmaster_start_time").length - 1;
  {
    await using lb = await createLoadBalancer(options);
    await allUsable(lb);
    await useAll(lb);
    const before = checks();
    await until("it has been checked again", () => checks() > before + 1);
    expect(lb.status).toMatchObject([{ role: "primary", usable: true }]);
  }
  expect(heard()).not.toMatch(aboutTheLog);
  expect(heard()).toContain("INSERT INTO t");
  // With a replica it does, on the way to the primary, too: what was to be heard would have been.
  await using other = await createLoadBalancer({ ...options, replicas: cluster.replicas.map(({ url }) => url) });
  await allUsable(other);
  expect(heard()).toMatch(aboutTheLog);
});
