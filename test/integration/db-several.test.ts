import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createLoadBalancers, type LoadBalancers } from "../../src/db/index.ts";
import { createMetrics, type MetricsRegistry } from "../../src/observability/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { allUsable, patientDatabase, patientSticking } from "../support/patient-database.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";
import { replayPaused } from "../support/replay-paused.ts";

let cluster: PostgresCluster;
let lbs: LoadBalancers<"main" | "ci">;
let metrics: MetricsRegistry;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  await cluster.sql(cluster.primary, "CREATE TABLE t (id int)");
  await cluster.sql(cluster.primary, "CREATE DATABASE ci TEMPLATE postgres");
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
});

beforeEach(async () => {
  const servers = (database: string) => ({
    primary: cluster.primary.url.replace(/postgres$/, database),
    replicas: cluster.replicas.map(({ url }) => url.replace(/postgres$/, database)),
    ...patientDatabase,
    sticking: { ...patientSticking, secret: "a secret for position tokens" },
  });
  metrics = createMetrics();
  lbs = await createLoadBalancers({ main: servers("postgres"), ci: servers("ci") }, { metrics });
  for (const name of ["main", "ci"] as const) await allUsable(lbs.get(name));
  return async () => await lbs.close();
});

const insert = (name: "main" | "ci") => lbs.get(name).query("INSERT INTO t VALUES (1)");
const standby = async (name: "main" | "ci") => (await lbs.get(name).query<{ r: boolean }>("SELECT pg_is_in_recovery() AS r")).rows[0]?.r;
const both = async () => [await standby("main"), await standby("ci")];

describe("a unit of work in several databases", () => {
  test("sticks to the primary of the one it wrote to, in later sessions of its keys too", async () => {
    await replayPaused(cluster, cluster.replicas, async () => {
      const user = { stick: [["user", 1]] } as const;
      await lbs.session(user, async () => {
        await insert("main");
        expect(await both()).toEqual([false, true]);
      });
      expect(await lbs.session(user, both)).toEqual([false, true]);
      expect(await lbs.session({ stick: [["user", 2]] }, both)).toEqual([true, true]);
    });
  });

  test("gives its caller one token for all of them", async () => {
    await replayPaused(cluster, cluster.replicas, async () => {
      const token = await lbs.session(async () => {
        await insert("main");
        const first = await lbs.positionToken();
        await insert("ci");
        return [first, await lbs.positionToken()] as string[];
      });
      expect(await lbs.session({ token: token[0] as string }, both)).toEqual([false, true]);
      expect(await lbs.session({ token: token[1] as string }, both)).toEqual([false, false]);
    });
  });

  test("runs under blocks for some databases or all, which restore what was", async () => {
    await lbs.session(async () => {
      await lbs.usePrimary({ databases: ["ci"] }, async () => {
        expect(await both()).toEqual([true, false]);
        await lbs.usePrimary(async () => {
          expect(await both()).toEqual([false, false]);
          await lbs.useReplicasForReadQueries({ databases: ["main"] }, async () => expect(await both()).toEqual([true, false]));
        });
        expect(await both()).toEqual([true, false]);
      });
      await lbs.ignoreWrites({ databases: ["main"] }, async () => {
        await insert("main");
        await insert("ci");
      });
      expect(await both()).toEqual([true, false]);
    });
    const refused = lbs.useReplicasForReadQueries({ databases: ["main"], onWrite: "throw" }, async () => {
      await insert("ci");
      await insert("main");
    });
    expect(await failureOf(refused)).toMatchObject({ code: "write_inside_read_only_transaction" });
  });
});

// Report: baserow 3942
describe("jobs", () => {
  test("captured after a write read the primary of that database while its replica is behind, then the replica", async () => {
    await replayPaused(cluster, cluster.replicas, async () => {
      const captured = await lbs.session(async () => {
        await insert("main");
        return JSON.parse(JSON.stringify(await lbs.capture()));
      });
      expect(captured).toMatchObject({ main: { source: "primary" }, ci: { source: "primary" } });
      const check = await lbs.checkJob(captured, { profile: "high" });
      expect(check.strategy).toBe("primary");
      expect(await lbs.session({ job: check }, both)).toEqual([false, false]);
      expect((await lbs.checkJob(captured, { profile: "high", dataConsistency: "delayed" })).strategy).toBe("retry");
      const late = lbs.checkJob(captured, { retried: true });
      await cluster.sql(cluster.replicas[0] as never, "SELECT pg_wal_replay_resume()");
      const found = await late;
      expect(found.strategy).toBe("replica_retried");
      expect(await lbs.session({ job: found }, both)).toEqual([true, true]);
    });
  });

  test("captured after reads on a replica need no more than that replica had", async () => {
    await replayPaused(cluster, cluster.replicas, async () => {
      const captured = await lbs.session(async () => {
        await both();
        await cluster.sql(cluster.primary, "INSERT INTO t VALUES (9)");
        return await lbs.capture();
      });
      expect(captured).toMatchObject({ main: { source: "replica" }, ci: { source: "replica" } });
      expect((await lbs.checkJob(captured)).strategy).toBe("replica");
    });
  });

  test("without a capture read the primary", async () => {
    const check = await lbs.checkJob(undefined);
    expect(check.strategy).toBe("primary_no_wal");
    expect(await lbs.session({ job: check }, both)).toEqual([false, false]);
  });
});

test("each database has series of its own, and unknown names are refused", async () => {
  await both();
  const page = await metrics.expose();
  expect(page).toMatch(/dblb_reads_total\{target="replica",reason="ok",database="main"\} 1/);
  expect(page).toMatch(/dblb_replicas\{state="usable",database="ci"\} 1/);
  expect(page).toMatch(/dblb_replicas\{state="usable",database="main"\} 1/);
  expect(lbs.status.ci).toHaveLength(2);
  expect(() => lbs.get("geo" as "ci")).toThrow(/no database of this name/);
  expect(await failureOf(createLoadBalancers({}))).toMatchObject({ code: "bad_config" });
  expect(await failureOf(createLoadBalancers({ "a/b": { primary: cluster.primary.url } }))).toMatchObject({ code: "bad_config" });
});
