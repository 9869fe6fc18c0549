import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { CodedError, neverAborted } from "../../src/base/index.ts";
import { type ReconcileCounts, type RepositorySource, rebuild } from "../../src/catalog/index.ts";
import { type CatalogScene, openCatalogScene } from "../support/catalog-scene.ts";
import { failureOf } from "../support/failure-of.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";

let cluster: PostgresCluster;
let scene: CatalogScene;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 0 });
  return async () => await cluster[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await scene?.[Symbol.asyncDispose]();
  scene = await openCatalogScene(cluster);
});

afterAll(async () => await scene?.[Symbol.asyncDispose]());

const clusterId = "0123456789abcdef0123456789abcdef";
const sql = (text: string) => cluster.sql(cluster.primary, text);

interface Run {
  readonly source?: RepositorySource;
  readonly dryRun?: boolean;
  readonly takeOver?: boolean;
  readonly clusterId?: string;
  readonly onPage?: (counts: ReconcileCounts) => void;
  readonly signal?: AbortSignal;
}

const run = ({ source = scene.source, signal = neverAborted, onPage, ...options }: Run = {}) =>
  rebuild(
    { clusterId, dryRun: false, takeOver: false, ...options },
    { ...scene.parts, database: scene.database, source, ...(onPage && { onPage }) },
    signal,
  );

/** The scene's source, with something done before or after the store is asked for a record. */
const withHook = (hook: { before?: (path: string) => Promise<void>; after?: (path: string) => Promise<void> }): RepositorySource => ({
  ...scene.source,
  newest: async (repository, signal) => {
    const path = typeof repository === "string" ? repository : (repository.path ?? "");
    await hook.before?.(path);
    const truth = await scene.source.newest(repository, signal);
    await hook.after?.(path);
    return truth;
  },
});

const long = `group/${"x".repeat(170)}.git`;

/** Repositories of every kind; returns how many names that makes. */
async function fill(): Promise<number> {
  const paths = [...Array.from({ length: 20 }, (_, i) => `g${i % 3}/r${i}.git`), "ä/\u{1f600}.git", "A b%.git", long];
  for (const path of paths) await scene.create(path);
  for (const path of [...paths.slice(0, 6), long]) await scene.push(path);
  for (const path of paths.slice(4, 8)) await scene.remove(path);
  return paths.length;
}

test("a database that was lost gets its tables and every repository, and knows those that were removed", async () => {
  const names = await fill();
  expect(await run()).toMatchObject({ stored: names, rows: 0, added: names - 4, noted: 4, corrected: 0, removed: 0, damaged: 0 });
  expect(await scene.listed()).toEqual(await scene.stored());
  expect(await scene.rowOf(long)).toMatchObject({ generation: "2", ref_count: "1", head: Buffer.from("refs/heads/main"), removed: false });
  // What a node still has to write of a repository that is gone comes late.
  const catalog = await scene.openCatalog();
  catalog.record({ ...(await scene.push("g0/r0.git")), path: "g1/r4.git", generation: 2 });
  await catalog.flush(neverAborted);
  expect(await scene.rowOf("g1/r4.git")).toMatchObject({ removed: true });
});

test("run again it finds nothing to do", async () => {
  const names = await fill();
  await run();
  const before = await sql("SELECT xmin::text, * FROM gitaly.repositories ORDER BY path");
  expect(await run()).toEqual({
    ...{ stored: names, rows: names, lookedUp: names, added: 0, noted: 0, corrected: 0, removed: 0, overtaken: 0, damaged: 0 },
  });
  expect(await sql("SELECT xmin::text, * FROM gitaly.repositories ORDER BY path")).toEqual(before);
});

test("rows that differ in anything are corrected, those of repositories that are gone removed, and missing ones added", async () => {
  await fill();
  await run();
  const right = await sql("SELECT * FROM gitaly.repositories ORDER BY path");
  const live = right.filter(({ removed }) => !removed).map(({ path }) => String(path));
  const wrong = [
    ...["repo_id = 'x'", "object_format = 'sha256'", "head = 'other'", "generation = 0", "generation = 99", "size_bytes = 7"],
    ...["ref_count = 7", "pack_count = 7", "replicas = 3", "created_at_ms = 1", "updated_at_ms = 1", "removed = true"],
  ];
  for (const [i, change] of wrong.entries()) await sql(`UPDATE gitaly.repositories SET ${change} WHERE path = '${live[i]}'`);
  await sql("UPDATE gitaly.repositories SET removed = false WHERE path = 'g1/r4.git'");
  await sql(`DELETE FROM gitaly.repositories WHERE path IN ('${live.at(-1)}', 'g2/r5.git')`);
  await sql(
    "INSERT INTO gitaly.repositories SELECT 'never/was.git', repo_id, object_format, head, 5, 1, 1, 1, 0, 1, 1, false FROM gitaly.repositories LIMIT 1",
  );
  expect(await run()).toMatchObject({ added: 1, noted: 1, corrected: wrong.length, removed: 2, overtaken: 0 });
  const after = await sql("SELECT * FROM gitaly.repositories WHERE path <> 'never/was.git' ORDER BY path");
  // Of a removed repository only its id and generation are told.
  const told = (rows: typeof right) => rows.map((row) => (row["removed"] ? { ...row, created_at_ms: 0, updated_at_ms: 0 } : row));
  expect(told(after)).toEqual(told(right));
  expect(await scene.rowOf("never/was.git")).toMatchObject({ removed: true });
});

test("a dry run counts the same and writes nothing, not even tables", async () => {
  const names = await fill();
  expect(await run({ dryRun: true })).toMatchObject({ stored: names, rows: 0, added: names - 4, noted: 4 });
  expect(await sql("SELECT 1 FROM pg_namespace WHERE nspname = 'gitaly'")).toEqual([]);
  await run();
  await sql("UPDATE gitaly.repositories SET generation = 0 WHERE path = 'g0/r0.git'");
  await sql("DELETE FROM gitaly.repositories WHERE path = 'g1/r1.git'");
  const before = [await sql("SELECT * FROM gitaly.repositories ORDER BY path"), await sql("SELECT * FROM gitaly.reconciliation")];
  expect(await run({ dryRun: true })).toMatchObject({ added: 1, corrected: 1 });
  expect([await sql("SELECT * FROM gitaly.repositories ORDER BY path"), await sql("SELECT * FROM gitaly.reconciliation")]).toEqual(before);
});

test("a store that cannot be listed to its end, or does not answer, removes nothing", async () => {
  await fill();
  await run();
  await sql(
    "INSERT INTO gitaly.repositories SELECT 'a/unknown.git', repo_id, object_format, head, 5, 1, 1, 1, 0, 1, 1, false FROM gitaly.repositories LIMIT 1",
  );
  const before = await scene.listed();
  const broken = new CodedError("store_unavailable", "the list broke off");
  const halfListed: RepositorySource = {
    ...scene.source,
    pages: async function* (signal) {
      for await (const page of scene.source.pages(signal)) yield page.slice(0, 3);
      throw broken;
    },
  };
  expect(await failureOf(run({ source: halfListed }))).toBe(broken);
  const silent: RepositorySource = { ...scene.source, newest: () => Promise.reject(broken) };
  expect(await failureOf(run({ source: silent }))).toBe(broken);
  expect(await scene.listed()).toEqual(before);
  expect(await run()).toMatchObject({ removed: 1 });
});

test("a repository that cannot be read is counted and its row stays", async () => {
  await fill();
  await run();
  await sql("UPDATE gitaly.repositories SET generation = 0 WHERE path IN ('g0/r0.git', 'g0/r9.git')");
  const source = withHook({
    before: async (path) => {
      if (path === "g0/r0.git") throw new CodedError("corrupt", "a generation record is damaged");
    },
  });
  expect(await run({ source })).toMatchObject({ damaged: 1, corrected: 1 });
  expect(await scene.rowOf("g0/r0.git")).toMatchObject({ generation: "0" });
});

test("stopped anywhere it leaves what is right, and the next run does the rest", async () => {
  const names = await fill();
  await run();
  await sql("DELETE FROM gitaly.repositories WHERE path < 'g1'");
  await sql("UPDATE gitaly.repositories SET size_bytes = 0");
  const stop = new AbortController();
  const cancelled = new CodedError("cancelled", "stopped");
  let asked = 0;
  const source = withHook({
    before: async () => {
      if (++asked === 5) stop.abort(cancelled);
    },
  });
  expect(await failureOf(run({ source, signal: stop.signal }))).toBe(cancelled);
  expect(await sql("SELECT held_until <= now() AS free, finished_at FROM gitaly.reconciliation")).toMatchObject([{ free: true }]);
  await run();
  expect(await scene.listed()).toEqual(await scene.stored());
  expect(await run()).toMatchObject({ rows: names, added: 0, corrected: 0, removed: 0 });
});

test("a catalog of another cluster is refused, unless it is to be taken over", async () => {
  await fill();
  await run();
  const other = "f".repeat(32);
  expect(await failureOf(run({ clusterId: other }))).toMatchObject({ code: "cluster_mismatch" });
  expect(await failureOf(run({ clusterId: other, dryRun: true }))).toMatchObject({ code: "cluster_mismatch" });
  await run({ clusterId: other, takeOver: true });
  expect(await failureOf(run())).toMatchObject({ code: "cluster_mismatch" });
});
