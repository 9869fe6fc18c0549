import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import { Reconciler, type ReconcilerDeps, type ReconcilerOptions, type RepositorySource } from "../../src/catalog/index.ts";
import { createMetrics, silentLogger } from "../../src/observability/index.ts";
import { type CatalogScene, openCatalogScene } from "../support/catalog-scene.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let scene: CatalogScene;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 0 });
  return async () => await cluster[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await scene?.[Symbol.asyncDispose]();
  scene = await openCatalogScene(cluster);
  await scene.openCatalog();
});

afterAll(async () => await scene?.[Symbol.asyncDispose]());

const clusterId = "0123456789abcdef0123456789abcdef";
const sql = (text: string) => cluster.sql(cluster.primary, text);

/** A node's reconciler that looks often; nothing but what a test does makes it begin. */
const start = (node: string, options: Partial<ReconcilerOptions> = {}, deps: Partial<ReconcilerDeps> = {}) =>
  new Reconciler(
    { node, clusterId, intervalMs: 3_600_000, lookIntervalMs: 50, leaseMs: 5000, ...options },
    { ...scene.parts, database: scene.database, source: scene.source, ...deps },
  );

/** The scene's source, and how often somebody went through its names. */
function counted(onPages: () => unknown = () => {}): { source: RepositorySource; runs: number } {
  const counter = {
    runs: 0,
    source: {
      ...scene.source,
      pages: async function* (signal: AbortSignal) {
        counter.runs++;
        await onPages();
        yield* scene.source.pages(signal);
      },
    },
  };
  return counter;
}

const wholeIs = async () => (await sql("SELECT 1 FROM gitaly.reconciliation WHERE finished_at >= started_at")).length > 0;
const isListed = async () => JSON.stringify(await scene.listed()) === JSON.stringify(await scene.stored());

test("a catalog that lost its rows is filled again without anyone doing anything", async () => {
  for (const path of ["a.git", "b.git", "c.git"]) await scene.create(path);
  await scene.push("b.git");
  await scene.remove("c.git");
  const metrics = createMetrics();
  await using _node = start("n1", {}, { metrics });
  await until("the catalog is whole", isListed);
  await until("the run has ended", wholeIs);
  expect(await metrics.expose()).toMatch(/gitaly_cluster_catalog_reconciled_total\{result="added"\} 2/);
  expect(await metrics.expose()).toMatch(/gitaly_cluster_catalog_reconcile_age_seconds \d/);
  await sql("DELETE FROM gitaly.repositories");
  await until("the catalog is whole again", isListed);
});

test("what a node never noted is found when somebody asks: new ones, pushes and removals; a row that the store does not know stays", async () => {
  const catalog = await scene.openCatalog();
  for (const path of ["a.git", "b.git", "c.git"]) catalog.record(await scene.create(path));
  catalog.record({ ...(await scene.push("a.git")), path: "unknown.git" });
  await catalog.flush(neverAborted);
  await using node = start("n1");
  await until("the first run has ended", wholeIs);
  await scene.push("b.git");
  await scene.remove("c.git");
  await scene.create("d.git");
  node.ask();
  await until("the removal is known", async () => (await scene.rowOf("c.git"))?.["removed"] === true);
  await until("the new one is listed", async () => (await scene.rowOf("d.git")) !== undefined);
  expect(await scene.listed()).toEqual([...(await scene.stored()), "unknown.git@2"].sort());
});

test("of many nodes one does the work, once for each reason", async () => {
  await scene.create("a.git");
  const counter = counted();
  await using _one = start("n1", {}, counter);
  await using two = start("n2", {}, counter);
  await using _three = start("n3", {}, counter);
  await until("the first run has ended", wholeIs);
  const [before] = await sql("SELECT started_at FROM gitaly.reconciliation");
  two.ask();
  await until(
    "a second run has begun",
    async () => JSON.stringify(await sql("SELECT started_at FROM gitaly.reconciliation")) !== JSON.stringify([before]),
  );
  await until("it has ended", wholeIs);
  expect(counter.runs).toBe(2);
});

test("a node that died at it is waited for, then another one goes on", async () => {
  await scene.create("a.git");
  await sql(`INSERT INTO gitaly.reconciliation VALUES (true, '${clusterId}', 'dead', now() + interval '4 s', now(), NULL)`);
  const [held] = await sql("SELECT held_until FROM gitaly.reconciliation");
  let begunAt: unknown;
  const counter = counted(async () => {
    [{ begunAt }] = (await sql('SELECT now() AS "begunAt"')) as [{ begunAt: unknown }];
  });
  await using _node = start("n1", {}, counter);
  await until("the catalog is whole", isListed);
  expect(Number(begunAt)).toBeGreaterThanOrEqual(Number(held?.["held_until"]));
});

test("the catalog of another cluster is left alone, and the log says so", async () => {
  await scene.create("a.git");
  await sql("INSERT INTO gitaly.reconciliation VALUES (true, 'other', 'n9', now(), now(), NULL)");
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  await using node = start("n1", {}, { logger });
  node.ask();
  await until("it is said", () => warnings.length > 0);
  expect(warnings[0]).toMatch(/another cluster/);
  expect(await scene.listed()).toEqual([]);
});

test("after the database was away it is compared, since changes may have been dropped meanwhile", async () => {
  await scene.create("a.git");
  await using _node = start("n1");
  await until("the first run has ended", wholeIs);
  const warnings: string[] = [];
  await cluster.primary.stop();
  try {
    await using _other = start("n2", {}, { logger: { ...silentLogger, warn: (message: string) => void warnings.push(message) } });
    await scene.create("b.git");
    await until("a node has seen that", () => warnings.length > 0, 60_000);
  } finally {
    await cluster.primary.start();
  }
  await until("what was made meanwhile is listed", isListed, 60_000);
});
