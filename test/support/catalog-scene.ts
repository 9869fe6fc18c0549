import { pathToFileURL } from "node:url";
import { neverAborted, systemClock, systemRandom } from "../../src/base/index.ts";
import { type Catalog, type CatalogEntry, createCatalog, type RepositorySource } from "../../src/catalog/index.ts";
import { createLoadBalancer, type LoadBalancer } from "../../src/db/index.ts";
import { noMetrics, silentLogger } from "../../src/observability/index.ts";
import { CloseStack, disposeAsync } from "../../src/server/close-stack.ts";
import { createRepositorySource } from "../../src/services/index.ts";
import { openObjectStore, type ProbedRepositoryStorage, RepositoryScan } from "../../src/storage/index.ts";
import type { PostgresCluster } from "./postgres-cluster.ts";
import { provenStorage, push } from "./scratch-storage.ts";
import { tempDir } from "./temp-dir.ts";

const parts = { clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics };

/** Repositories in a directory store, and a database beside it. */
export interface CatalogScene extends AsyncDisposable {
  readonly parts: typeof parts;
  readonly storage: ProbedRepositoryStorage;
  readonly source: RepositorySource;
  readonly database: LoadBalancer;
  /** Another storage over the same directory, as another process has it. */
  openStorage(): Promise<ProbedRepositoryStorage>;
  /** A node's catalog; closed with the scene. */
  openCatalog(): Promise<Catalog>;
  create(path: string): Promise<CatalogEntry>;
  /** Commits a change of a repository; the row that its node would note. */
  push(path: string): Promise<CatalogEntry>;
  remove(path: string): Promise<{ readonly path: string; readonly repoId: string; readonly generation: number }>;
  /** The row of a path. */
  rowOf(path: string): Promise<Record<string, unknown> | undefined>;
  /** Live rows as path and generation, and the same of the store. */
  listed(): Promise<string[]>;
  stored(): Promise<string[]>;
}

/** Opens a scene on a cluster whose schema is dropped first. */
export async function openCatalogScene(cluster: PostgresCluster): Promise<CatalogScene> {
  await cluster.sql(cluster.primary, "DROP SCHEMA IF EXISTS gitaly CASCADE");
  const dir = await tempDir();
  const closing = new CloseStack(silentLogger);
  const use = <T extends AsyncDisposable>(part: T): T => closing.use("part", part, disposeAsync);
  use(dir);
  const database = use(await createLoadBalancer({ primary: cluster.primary.url }, parts));
  const openStore = async () => use(await openObjectStore(pathToFileURL(`${dir.path}/objects`).href, parts));
  const openStorage = async () => use(provenStorage(await openStore()));
  const storage = await openStorage();
  const source = createRepositorySource(new RepositoryScan({ ...parts, store: await openStore() }));
  const truth = async (path: string): Promise<CatalogEntry> => {
    const found = await source.newest(path, neverAborted);
    if (!found || found.removed) throw new Error(`${path} is not in the store`);
    const { removed: _removed, ...entry } = found;
    return entry;
  };
  return {
    parts,
    storage,
    source,
    database,
    openStorage,
    openCatalog: async () => use(await createCatalog({ maxRetryDelayMs: 200, healthIntervalMs: 100 }, { ...parts, database })),
    create: async (path) => {
      await storage.create(path, { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);
      return await truth(path);
    },
    push: async (path) => {
      const base = await storage.newest(path, neverAborted);
      if (!base) throw new Error(`${path} is not in the store`);
      const { results } = await push(storage, base, [`r${base.n} 0 1`]);
      if (results[0]?.status !== "ok") throw new Error("the push was refused");
      return await truth(path);
    },
    remove: async (path) => {
      const { repoId, n } = await storage.remove(path, neverAborted);
      return { path, repoId, generation: n };
    },
    rowOf: async (path) =>
      (await cluster.sql(cluster.primary, `SELECT * FROM gitaly.repositories WHERE path = '${path.replaceAll("'", "''")}'`))[0],
    listed: async () =>
      (await cluster.sql(cluster.primary, "SELECT path, generation FROM gitaly.repositories WHERE NOT removed"))
        .map(({ path, generation }) => `${path}@${generation}`)
        .sort(),
    stored: async () => {
      const found: string[] = [];
      for await (const path of storage.paths(neverAborted)) found.push(`${path}@${(await storage.newest(path, neverAborted))?.n}`);
      return found.sort();
    },
    [Symbol.asyncDispose]: () => closing.close(),
  };
}
