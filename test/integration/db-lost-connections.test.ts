import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer, type LoadBalancerOptions } from "../../src/db/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { startTcpFront, type TcpFront } from "../support/tcp-front.ts";

let cluster: PostgresCluster;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  await cluster.sql(cluster.primary, "CREATE TABLE t (id int)");
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
});

beforeEach(async () => void (await cluster.sql(cluster.primary, "TRUNCATE t")));

const through = (front: TcpFront, server: PostgresServer) => server.url.replace(`:${server.port}/`, `:${front.port}/`);
const balancer = async (front: TcpFront, options: Partial<LoadBalancerOptions> = {}): Promise<LoadBalancer> => {
  const lb = await createLoadBalancer({ ...patientDatabase, primary: through(front, cluster.primary), primaryBackoffMs: 20, ...options });
  await allUsable(lb);
  return lb;
};
const stored = async () => (await cluster.sql(cluster.primary, "SELECT id FROM t ORDER BY id")).map((row) => row["id"]);

/** A front that cuts all connections once, when a text passes after it was armed. */
async function cuttingFront(text: string, direction: "asked" | "answered") {
  let armed = false;
  const cutAt = (chunk: Buffer): boolean => {
    if (!armed || !chunk.includes(text)) return false;
    armed = false;
    front.cut();
    return true;
  };
  const front = await startTcpFront(
    cluster.primary.port,
    direction === "asked" ? { onHeard: (chunk) => void cutAt(chunk) } : { rewrite: (chunk) => (cutAt(chunk) ? Buffer.alloc(0) : chunk) },
  );
  const arm = () => {
    armed = true;
  };
  return { front, arm, [Symbol.asyncDispose]: () => front[Symbol.asyncDispose]() };
}

describe("a connection that is lost", () => {
  // Case 40
  test.each([
    ["before the server has heard of it", "asked", []],
    ["with the answer to it", "answered", [1]],
  ] as const)("during COMMIT, %s: the outcome is unknown, and nothing is done a second time", async (_when, direction, expected) => {
    await using cutting = await cuttingFront("COMMIT", direction);
    await using lb = await balancer(cutting.front);
    const failure = await failureOf(
      lb.transaction(async (tx) => {
        await tx.query("INSERT INTO t VALUES (1)");
        cutting.arm();
      }),
    );
    expect(failure).toMatchObject({ code: "outcome_unknown" });
    expect(await stored()).toEqual(expected);
    await lb.query("INSERT INTO t VALUES (2)");
    expect(await stored()).toEqual([...expected, 2]);
  });

  // Cases 40, 41
  test("with the answer to a write: the outcome is unknown, and the write is not repeated", async () => {
    await using cutting = await cuttingFront("INSERT 0 1", "answered");
    await using lb = await balancer(cutting.front);
    cutting.arm();
    expect(await failureOf(lb.query("INSERT INTO t VALUES (1)"))).toMatchObject({ code: "outcome_unknown" });
    expect(await stored()).toEqual([1]);
  });

  // Case 39
  test("inside a transaction: nothing of it stays, and what comes after in it runs nowhere", async () => {
    await using front = await startTcpFront(cluster.primary.port);
    await using lb = await balancer(front);
    const failure = await failureOf(
      lb.transaction(async (tx) => {
        await tx.query("INSERT INTO t VALUES (1)");
        front.cut();
        for (const work of [() => tx.query("INSERT INTO t VALUES (2)"), () => lb.query("INSERT INTO t VALUES (3)")]) {
          expect(await failureOf(work())).toMatchObject({ code: "database_unavailable" });
        }
      }),
    );
    expect(failure).toMatchObject({ code: "database_unavailable" });
    expect(await stored()).toEqual([]);
  });

  // Case 41: whoever ends a connection before anything was sent on it has done nothing.
  test.each([
    ["a write", (lb: LoadBalancer) => lb.query("INSERT INTO t VALUES (1)")],
    ["a transaction", (lb: LoadBalancer) => lb.transaction((tx) => tx.query("INSERT INTO t VALUES (1)"))],
  ])("while it is made costs %s nothing: it is done once, on another one", async (_what, write) => {
    await using front = await startTcpFront(cluster.primary.port);
    await using lb = await balancer(front, { replicaCheckIntervalMs: 3_600_000 });
    front.refuse(1);
    await write(lb);
    expect(front.accepted).toBe(3);
    expect(await stored()).toEqual([1]);
  });
});
