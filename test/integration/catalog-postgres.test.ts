import { beforeAll, beforeEach, expect, test } from "vitest";
import { compareUtf8, neverAborted, systemClock, systemRandom, toByteString } from "../../src/base/index.ts";
import { type CatalogEntry, type CatalogOptions, type CatalogToken, createCatalog } from "../../src/catalog/index.ts";
import { createLoadBalancer } from "../../src/db/index.ts";
import { noMetrics, silentLogger } from "../../src/observability/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";
import { startTcpFront } from "../support/tcp-front.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  return async () => await cluster[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await cluster.sql(cluster.primary, "DROP SCHEMA IF EXISTS gitaly CASCADE");
  await cluster.caughtUp();
});

const entry = (fields: Partial<CatalogEntry>): CatalogEntry => ({
  ...{ path: "a.git", repoId: "r1", objectFormat: "sha1", head: "refs/heads/main", generation: 1, sizeBytes: 2 ** 40, refCount: 3 },
  ...{ packCount: 4, replicas: 0, createdAtMs: 1_700_000_000_000, updatedAtMs: 1_700_000_000_001 },
  ...fields,
});

async function open(
  options: Partial<CatalogOptions> = {},
  servers?: Pick<Parameters<typeof createLoadBalancer>[0], "primary" | "sticking">,
) {
  const database = await createLoadBalancer(servers ?? { primary: cluster.primary.url, replicas: cluster.replicas.map((one) => one.url) });
  const deps = { database, clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics };
  const catalog = await createCatalog({ maxRetryDelayMs: 200, healthIntervalMs: 100, ...options }, deps);
  return {
    catalog,
    [Symbol.asyncDispose]: async () => {
      await catalog[Symbol.asyncDispose]();
      await database.close();
    },
  };
}

test("an entry comes back as it was noted, bytes and large numbers included", async () => {
  await using opened = await open();
  const noted = entry({ path: "group/ä/\u{1f600}.git", head: `${toByteString("refs/heads/ü")}\xff`, replicas: 3 });
  opened.catalog.record(noted);
  await opened.catalog.flush(neverAborted);
  expect(await opened.catalog.find(noted.path, neverAborted)).toEqual(noted);
  // Nothing was written of it, so that the replica may be asked, which has the schema a little later.
  await cluster.caughtUp();
  expect(await opened.catalog.find("other.git", neverAborted)).toBeUndefined();
  expect(opened.catalog.health).toEqual({ ok: true, message: "" });
});

test("listings are in byte order, below a prefix, page by page", async () => {
  await using opened = await open();
  const paths = ["b", "a-b", "a/b", "a.b", "a/\u{10ffff}", "a/\uffee", "A", "Z/a", "é", "a%b", "a_b", "a/c/d"];
  for (const path of paths) opened.catalog.record(entry({ path, repoId: path }));
  await opened.catalog.flush(neverAborted);
  const all: string[] = [];
  for (let after = ""; ; after = all.at(-1) ?? "") {
    const page = await opened.catalog.list({ prefix: "", after, limit: 5 }, neverAborted);
    all.push(...page.map((one) => one.path));
    if (page.length < 5) break;
  }
  expect(all).toEqual([...paths].sort(compareUtf8));
  const below = await opened.catalog.list({ prefix: "a/", after: "a/b", limit: 1000 }, neverAborted);
  expect(below.map((one) => one.path)).toEqual(["a/c/d", "a/\uffee", "a/\u{10ffff}"]);
  expect((await opened.catalog.list({ prefix: "a%", after: "", limit: 9 }, neverAborted)).map((one) => one.path)).toEqual(["a%b"]);
  expect((await failureOf(opened.catalog.list({ prefix: "", after: "", limit: 1001 }, neverAborted))).code).toBe("invalid_argument");
});

test("newer generations win whichever node writes first, and a removed repository does not come back by an older note", async () => {
  await using one = await open();
  await using two = await open();
  const states = [3, 1, 2].map((generation) => entry({ generation, sizeBytes: generation }));
  for (const [i, state] of states.entries()) {
    const { catalog } = i % 2 === 0 ? one : two;
    catalog.record(state);
    await catalog.flush(neverAborted);
  }
  expect(await one.catalog.find("a.git", neverAborted)).toMatchObject({ generation: 3, sizeBytes: 3 });
  one.catalog.recordRemoved("a.git", "r1", 5);
  await one.catalog.flush(neverAborted);
  two.catalog.record(entry({ generation: 4 }));
  await two.catalog.flush(neverAborted);
  expect(await two.catalog.find("a.git", neverAborted)).toBeUndefined();
  two.catalog.record(entry({ repoId: "r2", generation: 6 }));
  await two.catalog.flush(neverAborted);
  expect(await two.catalog.find("a.git", neverAborted)).toMatchObject({ repoId: "r2" });
});

test("k is known without waiting once a repository was seen", async () => {
  await using opened = await open();
  expect(opened.catalog.replicasOf("a.git")).toBeUndefined();
  opened.catalog.record(entry({ replicas: 3 }));
  expect(opened.catalog.replicasOf("a.git")).toBe(3);
  opened.catalog.record(entry({ replicas: 0, generation: 2 }));
  expect(opened.catalog.replicasOf("a.git")).toBeUndefined();
  opened.catalog.record(entry({ replicas: 2, generation: 3 }));
  await opened.catalog.flush(neverAborted);
  await cluster.caughtUp();
  await using other = await open();
  await other.catalog.list({ prefix: "", after: "", limit: 10 }, neverAborted);
  expect(other.catalog.replicasOf("a.git")).toBe(2);
});

test("nodes that start at once on an empty database make one schema", async () => {
  const opened = await Promise.all([open(), open(), open()]);
  try {
    expect(opened.map(({ catalog }) => catalog.health.ok)).toEqual([true, true, true]);
    expect(await cluster.sql(cluster.primary, "SELECT version FROM gitaly.schema_migrations")).toEqual([{ version: 1 }, { version: 2 }]);
  } finally {
    for (const one of opened) await one[Symbol.asyncDispose]();
  }
});

test("a change that the database refuses holds up no other", async () => {
  await using opened = await open();
  for (const path of ["a", "b\0", "c"]) opened.catalog.record(entry({ path, repoId: path }));
  await opened.catalog.flush(neverAborted);
  expect((await opened.catalog.list({ prefix: "", after: "", limit: 9 }, neverAborted)).map((one) => one.path)).toEqual(["a", "c"]);
});

test("with the primary down, notes wait and land later, and reads come from the replica; the start does not fail either", async () => {
  await using before = await open();
  before.catalog.record(entry({ path: "early.git" }));
  await before.catalog.flush(neverAborted);
  await cluster.caughtUp();
  await cluster.primary.stop();
  let late: Awaited<ReturnType<typeof open>> | undefined;
  try {
    for (let generation = 1; generation <= 1000; generation++) before.catalog.record(entry({ path: "down.git", generation }));
    late = await open({ startTimeoutMs: 100 });
    late.catalog.record(entry({ path: "late.git" }));
    expect(late.catalog.health.ok).toBe(false);
    // A node that has not written it: its own writes would ask for the primary.
    expect(await late.catalog.find("early.git", neverAborted)).toMatchObject({ path: "early.git" });
    await expect(late.catalog.flush(AbortSignal.timeout(50))).rejects.toBeDefined();
  } finally {
    await cluster.primary.start();
  }
  await before.catalog.flush(neverAborted);
  await late.catalog.flush(neverAborted);
  expect(await before.catalog.find("down.git", neverAborted)).toMatchObject({ generation: 1000 });
  expect(await late.catalog.find("late.git", neverAborted)).toMatchObject({ path: "late.git" });
  expect(late.catalog.health.ok).toBe(true);
  await late[Symbol.asyncDispose]();
});

test("a database that is made anew under a running node gets its schema again", async () => {
  await using opened = await open();
  await cluster.sql(cluster.primary, "DROP SCHEMA gitaly CASCADE");
  opened.catalog.record(entry({}));
  await opened.catalog.flush(neverAborted);
  expect(await opened.catalog.find("a.git", neverAborted)).toMatchObject({ path: "a.git" });
});

test("a database that falls silent is told of: readers get an error in their time, health turns bad, who waits for a write is let go", async () => {
  await using front = await startTcpFront(cluster.primary.port);
  const url = new URL(cluster.primary.url);
  url.port = String(front.port);
  const sticking = { secret: "a secret for position tokens" };
  await using opened = await open({ readTimeoutMs: 2000, healthIntervalMs: 1000, closeTimeoutMs: 100 }, { primary: url.href, sticking });
  const { catalog } = opened;
  catalog.record(entry({}));
  await catalog.flush(neverAborted);
  await until("all is well", () => catalog.health.ok);
  front.swallow();
  // Without limits of their own these would wait for the statement's 31 s, or for all attempts to write.
  for (const read of [catalog.list({ prefix: "", after: "", limit: 9 }, neverAborted), catalog.find("a.git", neverAborted)]) {
    const failure = await failureOf(read);
    expect(failure).toMatchObject({ code: "database_unavailable", fields: { afterMs: 2000 }, retryAfterMs: 1000 });
  }
  await until("health says so", () => !catalog.health.ok, 10_000);
  front.pass();
  await until("it is well again", () => catalog.health.ok, 10_000);

  front.swallow();
  catalog.record(entry({ generation: 2 }));
  await catalog.settle("a.git", catalog.openToken([]) as CatalogToken, neverAborted);
  expect(catalog.health.ok).toBe(false);
  front.pass();
  await catalog.flush(neverAborted);
  await until("it is well again", () => catalog.health.ok, 10_000);
  expect(await catalog.find("a.git", neverAborted)).toMatchObject({ generation: 2 });
}, 60_000);
