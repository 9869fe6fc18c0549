import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { neverAborted, systemClock, systemRandom } from "../../src/base/index.ts";
import { createRepositoryCache, type RepositoryCache } from "../../src/cache/index.ts";
import { createMetrics, noMetrics, silentLogger } from "../../src/observability/index.ts";
import {
  type Generation,
  type LocalPack,
  type ObjectStore,
  openObjectStore,
  type ProbedRepositoryStorage,
} from "../../src/storage/index.ts";
import { provenStorage } from "../support/scratch-storage.ts";
import { git, runGit } from "../support/stock-git.ts";
import { tempDir } from "../support/temp-dir.ts";

let dir: Awaited<ReturnType<typeof tempDir>>;
let store: ObjectStore;
let storage: ProbedRepositoryStorage;

beforeEach(async () => {
  dir = await tempDir();
  store = await openObjectStore(`file://${join(dir.path, "store")}`, { clock: systemClock, random: systemRandom, metrics: noMetrics });
  storage = provenStorage(store);
});
afterEach(async () => {
  await storage[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  await dir[Symbol.asyncDispose]();
});

async function node(
  name: string,
  on: ProbedRepositoryStorage = storage,
): Promise<{ cache: RepositoryCache; downloads: () => Promise<number> }> {
  const metrics = createMetrics();
  const deps = { storage: on, clock: systemClock, random: systemRandom, logger: silentLogger, metrics };
  const cache = await createRepositoryCache({ dir: join(dir.path, name), minFreeBytes: 0 }, deps);
  const downloads = async () => Number(/^gitaly_cluster_cache_fill_seconds_count (\d+)/m.exec(await metrics.expose())?.[1] ?? 0);
  return { cache, downloads };
}

/** One commit on top of main, as a pack that stock git made. */
async function commit(message: string): Promise<{ oid: string; pack: LocalPack }> {
  const work = join(dir.path, "work");
  await git("init", "-q", "-b", "main", work);
  await git("-C", work, "commit", "-q", "--allow-empty", "-m", message);
  const oid = (await git("-C", work, "rev-parse", "HEAD")).trim();
  await git("-C", work, "repack", "-q", "-a", "-d", "-f");
  const names = await readdir(join(work, ".git/objects/pack"));
  const file = (extension: string) => join(work, ".git/objects/pack", names.find((name) => name.endsWith(extension)) as string);
  return { oid, pack: { packFile: file(".pack"), indexFile: file(".idx"), objectCount: 2 } };
}

async function push(base: Generation, oldOid: string, { oid, pack }: { oid: string; pack: LocalPack }): Promise<Generation> {
  const updates = [{ ref: "refs/heads/main", oldOid, newOid: oid }];
  const request = { path: base.path, base, updates, atomic: false, packs: [pack], disconnected: async () => [] };
  const { generation, results } = await storage.publish(request, neverAborted);
  expect(results).toMatchObject([{ status: "ok" }]);
  return generation;
}

async function log(cache: RepositoryCache, revision: string): Promise<string> {
  await using lease = await cache.acquire("a.git", neverAborted);
  const { gitDir, objectDir } = await lease.snapshot(neverAborted);
  const result = await runGit(["--git-dir", gitDir, "log", "--format=%s", revision], { env: { GIT_OBJECT_DIRECTORY: objectDir } });
  return result.code === 0 ? result.stdout : result.stderr;
}

const zero = "0".repeat(40);
const created = () => storage.create("a.git", { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);

test("a push that was adopted is read without a download, and another node sees it at once", async () => {
  // B07
  const first = await node("first");
  await using _first = first.cache;
  const otherStorage = provenStorage(store);
  await using _other = otherStorage;
  const second = await node("second", otherStorage);
  await using _second = second.cache;
  const base = await created();
  expect(await log(second.cache, "main")).toContain("unknown revision");
  const pushed = await commit("one");
  expect(await first.cache.adopt(await push(base, zero, pushed), [pushed.pack])).toBe(1);
  expect(await log(first.cache, pushed.oid)).toBe("one\n");
  expect(await first.downloads()).toBe(0);
  expect(await log(second.cache, pushed.oid)).toBe("one\n");
  expect(await second.downloads()).toBe(2);
});

test("what was deleted and made again shows no former ref and no former object", async () => {
  // B18
  const { cache } = await node("node");
  await using _cache = cache;
  const pushed = await commit("one");
  await push(await created(), zero, pushed);
  expect(await log(cache, "main")).toBe("one\n");
  await storage.remove("a.git", neverAborted);
  await expect(cache.acquire("a.git", neverAborted)).rejects.toMatchObject({ code: "repository_not_found" });
  await created();
  expect(await log(cache, "main")).toContain("unknown revision");
  expect(await log(cache, pushed.oid)).toContain("bad object");
});

test("five cold readers download each artifact once", async () => {
  // B13
  const { cache, downloads } = await node("node");
  await using _cache = cache;
  const pushed = await commit("one");
  await push(await created(), zero, pushed);
  expect(await Promise.all(Array.from({ length: 5 }, () => log(cache, "main")))).toEqual(Array(5).fill("one\n"));
  expect(await downloads()).toBe(2);
});
