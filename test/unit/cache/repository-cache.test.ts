import { existsSync } from "node:fs";
import { link, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CodedError, neverAborted, systemClock } from "../../../src/base/index.ts";
import { createRepositoryCache, type RepositoryCache, type RepositoryCacheDeps } from "../../../src/cache/index.ts";
import { createMetrics, silentLogger } from "../../../src/observability/index.ts";
import type { Artifact, Generation } from "../../../src/storage/index.ts";
import { FakeRepositoryStorage, type PackFiles } from "../../support/fake-repository-storage.ts";
import { simRandom } from "../../support/sim-random.ts";

let base: string;
let storage: FakeRepositoryStorage;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "cache-test-"));
  storage = new FakeRepositoryStorage();
});
afterEach(() => rm(base, { recursive: true, force: true }));

const open = (options: { maxBytes?: number; minFreeBytes?: number } = {}, deps: Partial<RepositoryCacheDeps> = {}) =>
  createRepositoryCache(
    { dir: join(base, "cache"), minFreeBytes: 0, ...options },
    { storage, clock: systemClock, random: simRandom(1), logger: silentLogger, metrics: createMetrics(), ...deps },
  );

/** A pack and an index whose ends fit together as git's do. */
function packFiles(seed: string, sizeBytes = 1000): PackFiles {
  const pack = Buffer.alloc(sizeBytes, seed);
  const checksum = Buffer.alloc(20, `${seed}!`);
  checksum.copy(pack, sizeBytes - 20);
  return {
    pack,
    index: Buffer.concat([Buffer.from(`index ${seed}`), checksum, Buffer.alloc(20, 1)]),
    reverseIndex: Buffer.from(`rev ${seed}`),
  };
}

async function read(cache: RepositoryCache, path = "a.git"): Promise<string[]> {
  await using lease = await cache.acquire(path, neverAborted);
  const { objectDir } = await lease.snapshot(neverAborted);
  return (await readdir(join(objectDir, "pack"))).sort();
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

function artifactFile(artifact: Artifact): string {
  return join(base, "cache/artifacts", (artifact.name.split(".")[3] as string).slice(0, 2), artifact.name);
}

const packOf = (generation: Generation, position = 0): Artifact => (generation.packs[position] as Generation["packs"][number]).pack;

describe("leases", () => {
  test("a path without a repository is repository_not_found", async () => {
    await using cache = await open();
    await expect(cache.acquire("none.git", neverAborted)).rejects.toMatchObject({ code: "repository_not_found" });
  });

  test("refs are there before any pack is", async () => {
    storage.commit("a.git", { packs: [packFiles("1")], refs: [{ name: "refs/heads/main", oid: "1".repeat(40) }] });
    await using cache = await open();
    await using lease = await cache.acquire("a.git", neverAborted);
    expect(lease.refs.get("refs/heads/main")?.oid).toBe("1".repeat(40));
    expect(lease.head).toBe("refs/heads/main");
    expect(storage.fetches).toEqual([]);
  });

  test("a snapshot holds HEAD, refs, packed refs, config and exactly the packs of its manifest", async () => {
    const first = storage.commit("a.git", { packs: [packFiles("1")], refs: [{ name: "refs/heads/main", oid: "1".repeat(40) }] });
    storage.commit("other.git", { repoId: "r2", packs: [packFiles("2")], keep: first.packs });
    await using cache = await open();
    await read(cache, "other.git");
    await using lease = await cache.acquire("a.git", neverAborted);
    const { gitDir, objectDir } = await lease.snapshot(neverAborted);
    expect((await readdir(gitDir)).sort()).toEqual(["HEAD", "config", "packed-refs", "refs"]);
    expect(await readFile(join(gitDir, "HEAD"), "utf8")).toBe("ref: refs/heads/main\n");
    const sha = (packOf(first).name.split(".")[3] as string).slice(0, 40);
    expect((await readdir(join(objectDir, "pack"))).sort()).toEqual([`pack-${sha}.idx`, `pack-${sha}.pack`, `pack-${sha}.rev`]);
    expect(await readdir(objectDir)).toEqual(["pack"]);
    // The shared pack came once.
    expect(storage.fetches.length).toBe(new Set(storage.fetches).size);
  });

  test("an artifact name that could leave the directory is refused", async () => {
    const generation = storage.commit("a.git", { packs: [packFiles("1")] });
    const bad = {
      ...generation,
      digest: "x",
      packs: generation.packs.map((pack) => ({ ...pack, pack: { name: "../../x.pack", sizeBytes: 1 } })),
    };
    await using cache = await open();
    await using lease = await cache.acquireGeneration(bad, neverAborted);
    await expect(lease.snapshot(neverAborted)).rejects.toMatchObject({ code: "corrupt" });
  });

  test("a generation without new packs shares the object directory of the one before", async () => {
    storage.commit("a.git", { packs: [packFiles("1")] });
    await using cache = await open();
    await using before = await cache.acquire("a.git", neverAborted);
    const first = await before.snapshot(neverAborted);
    storage.commit("a.git", { refs: [{ name: "refs/heads/x", oid: "2".repeat(40) }] });
    await using after = await cache.acquire("a.git", neverAborted);
    const second = await after.snapshot(neverAborted);
    expect(second.objectDir).toBe(first.objectDir);
    expect(second.gitDir).not.toBe(first.gitDir);
    expect(await readFile(join(second.gitDir, "packed-refs"), "utf8")).toContain("refs/heads/x");
  });

  test("directories of a superseded generation stay while leased and go with the last lease", async () => {
    storage.commit("a.git", { packs: [packFiles("1")] });
    await using cache = await open();
    const old = await cache.acquire("a.git", neverAborted);
    const snapshot = await old.snapshot(neverAborted);
    storage.commit("a.git", { packs: [packFiles("2")], refs: [{ name: "refs/heads/x", oid: "2".repeat(40) }] });
    expect(await read(cache)).toHaveLength(6);
    expect(existsSync(snapshot.objectDir)).toBe(true);
    await old[Symbol.asyncDispose]();
    expect(existsSync(snapshot.objectDir)).toBe(false);
    expect(existsSync(snapshot.gitDir)).toBe(false);
    expect(await readdir(join(base, "cache/objects"))).toHaveLength(1);
    expect(await readdir(join(base, "cache/snapshots"))).toHaveLength(1);
  });
});

describe("filling", () => {
  test("five parallel cold reads make one download of each artifact, and all see a whole directory", async () => {
    // B13
    storage.commit("a.git", { packs: [packFiles("1"), packFiles("2")] });
    await using cache = await open();
    const listings = await Promise.all(Array.from({ length: 5 }, () => read(cache)));
    for (const names of listings) expect(names).toHaveLength(6);
    expect(storage.fetches).toHaveLength(6);
  });

  test("when the download fails every waiter sees the error, nothing half-made stays, and the next read works", async () => {
    // B14
    storage.commit("a.git", { packs: [packFiles("1")] });
    await using cache = await open();
    storage.beforeFetch = async (_artifact, file) => {
      await writeFile(file, "half");
      throw new CodedError("store_unavailable", "store went away");
    };
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => read(cache)));
    for (const result of results) expect(result).toMatchObject({ status: "rejected", reason: { code: "store_unavailable" } });
    storage.beforeFetch = async () => {};
    expect(await read(cache)).toHaveLength(3);
    expect(await readdir(join(base, "cache/objects"))).toHaveLength(1);
  });

  test("a caller that goes away does not take the download from the others", async () => {
    storage.commit("a.git", { packs: [packFiles("1")] });
    await using cache = await open();
    const started = withResolvers();
    const gate = withResolvers();
    storage.beforeFetch = async () => {
      started.resolve();
      await gate.promise;
    };
    const leaver = new AbortController();
    const first = (async () => {
      await using lease = await cache.acquire("a.git", neverAborted);
      await lease.snapshot(leaver.signal);
    })();
    await started.promise;
    await using stayer = await cache.acquire("a.git", neverAborted);
    const second = stayer.snapshot(neverAborted);
    await new Promise(setImmediate);
    leaver.abort(new Error("gone"));
    await expect(first).rejects.toThrow("gone");
    gate.resolve();
    expect(await readdir(join((await second).objectDir, "pack"))).toHaveLength(3);
    expect(storage.fetches).toHaveLength(3);
  });

  test("an artifact that is gone sends acquire to the newer generation, and is an alarm in the newest", async () => {
    const old = storage.commit("a.git", { packs: [packFiles("1")] });
    const alarms: unknown[] = [];
    const logger = {
      ...silentLogger,
      child: () => ({ ...silentLogger, error: (_message: string, fields?: object) => void alarms.push(fields) }),
    };
    await using cache = await open({}, { logger });
    await using lease = await cache.acquireGeneration(old, neverAborted);
    storage.artifacts.delete(packOf(old).name);
    await expect(lease.snapshot(neverAborted)).rejects.toMatchObject({ code: "artifact_missing" });
    expect(alarms).toMatchObject([{ alarm: "artifact_missing", n: 1 }]);
    storage.commit("a.git", { keep: [], packs: [packFiles("2")], refs: [{ name: "refs/heads/y", oid: "3".repeat(40) }] });
    await expect(lease.snapshot(neverAborted)).rejects.toMatchObject({ code: "artifact_missing", fields: { superseded: true } });
    expect(alarms).toHaveLength(1);

    const refTable = storage.refTable.bind(storage);
    let losses = 1;
    storage.refTable = async (generation) => {
      if (losses-- > 0) {
        storage.commit("a.git", { refs: [{ name: "refs/heads/new", oid: "3".repeat(40) }] });
        throw new CodedError("artifact_missing", "gone");
      }
      return refTable(generation);
    };
    await using newer = await cache.acquire("a.git", neverAborted);
    expect(newer.generation.n).toBe(3);
    expect(alarms).toHaveLength(1);
  });
});

describe("limits", () => {
  test("a repository larger than the cache is served with one download a read and dropped when its lease ends", async () => {
    // B15
    storage.commit("a.git", { packs: [packFiles("1", 12_000)] });
    storage.commit("small.git", { repoId: "r2", packs: [packFiles("2", 500)] });
    await using cache = await open({ maxBytes: 10_000 });
    await read(cache, "small.git");
    for (let round = 0; round < 3; round++) {
      storage.fetches.length = 0;
      await read(cache);
      expect(storage.fetches.filter((name) => name.endsWith(".pack"))).toHaveLength(1);
      expect(cache.sizeBytes).toBeLessThanOrEqual(10_000);
    }
    storage.fetches.length = 0;
    await read(cache, "small.git");
    expect(storage.fetches).toEqual([]);
  });

  test("the least recently used goes first, and never what a lease pins", async () => {
    // B17
    const a = storage.commit("a.git", { packs: [packFiles("a", 4000)] });
    const b = storage.commit("b.git", { repoId: "rb", packs: [packFiles("b", 4000)] });
    const c = storage.commit("c.git", { repoId: "rc", packs: [packFiles("c", 4000)] });
    await using cache = await open({ maxBytes: 9000 });
    const lease = await cache.acquire("a.git", neverAborted);
    const { objectDir } = await lease.snapshot(neverAborted);
    await read(cache, "b.git");
    await read(cache, "c.git");
    expect(existsSync(artifactFile(packOf(a)))).toBe(true);
    expect(existsSync(artifactFile(packOf(b)))).toBe(false);
    expect(existsSync(artifactFile(packOf(c)))).toBe(true);
    expect(await readdir(join(objectDir, "pack"))).toHaveLength(3);
    await lease[Symbol.asyncDispose]();
    await read(cache, "b.git");
    expect(existsSync(artifactFile(packOf(a)))).toBe(false);
    expect(existsSync(objectDir)).toBe(false);
    expect(cache.sizeBytes).toBeLessThanOrEqual(9000);
  });

  test("a full disk evicts what no one reads, and is limit_exceeded when that is not enough", async () => {
    storage.commit("a.git", { packs: [packFiles("a", 4000)] });
    storage.commit("b.git", { repoId: "rb", packs: [packFiles("b", 4000)] });
    let diskBytes = 6000;
    const freeBytes = async () => diskBytes - cache.sizeBytes;
    const cache: RepositoryCache = await open({ minFreeBytes: 1000 }, { freeBytes });
    await using _cache = cache;
    await read(cache, "a.git");
    await read(cache, "b.git");
    expect(cache.sizeBytes).toBeLessThan(5000);
    diskBytes = 500;
    storage.commit("b.git", { packs: [packFiles("b2", 4000)] });
    await expect(read(cache, "b.git")).rejects.toMatchObject({ code: "limit_exceeded" });
  });

  test("ENOSPC during a download evicts and tries once more", async () => {
    storage.commit("a.git", { packs: [packFiles("a", 4000)] });
    storage.commit("b.git", { repoId: "rb", packs: [packFiles("b", 4000)] });
    await using cache = await open({ minFreeBytes: 4000 });
    await read(cache, "a.git");
    storage.beforeFetch = async () => {
      if (cache.sizeBytes < 4000) return;
      throw new CodedError("store_unavailable", "cannot write", {}, { cause: Object.assign(new Error("full"), { code: "ENOSPC" }) });
    };
    await expect(read(cache, "b.git")).resolves.toHaveLength(3);
    storage.beforeFetch = async () => {
      throw Object.assign(new Error("full"), { code: "ENOSPC" });
    };
    storage.commit("b.git", { keep: [], packs: [packFiles("b2")] });
    await expect(read(cache, "b.git")).rejects.toMatchObject({ code: "limit_exceeded" });
  });
});

describe("identity and damage", () => {
  test("a repository that was deleted and made again shows nothing of its former life", async () => {
    // B18
    storage.commit("a.git", { packs: [packFiles("1")], refs: [{ name: "refs/heads/main", oid: "1".repeat(40) }] });
    await using cache = await open();
    await read(cache);
    storage.commit("a.git", { repoId: "r2", keep: [], refs: [] });
    await using lease = await cache.acquire("a.git", neverAborted);
    expect(lease.refs.size).toBe(0);
    const { gitDir, objectDir } = await lease.snapshot(neverAborted);
    expect(await readdir(join(objectDir, "pack"))).toEqual([]);
    expect(await readFile(join(gitDir, "packed-refs"), "utf8")).not.toContain("refs/heads/main");
  });

  test.each([
    ["shorter by a byte", async (file: string) => truncate(file, (await stat(file)).size - 1)],
    ["overwritten at the same size", (file: string) => writeFile(file, Buffer.alloc(1000, "z"))],
    ["deleted", (file: string) => rm(file)],
  ])("a cached pack that was %s is fetched again before it is used", async (_what, damage) => {
    // B09
    const generation = storage.commit("a.git", { packs: [packFiles("1")] });
    await using cache = await open();
    await read(cache);
    storage.fetches.length = 0;
    await damage(artifactFile(packOf(generation)));
    const [, name] = await read(cache);
    expect(storage.fetches).toEqual([packOf(generation).name]);
    expect(name).toMatch(/\.pack$/);
    await using lease = await cache.acquire("a.git", neverAborted);
    const { objectDir } = await lease.snapshot(neverAborted);
    expect(await readFile(join(objectDir, "pack", name as string))).toEqual(Buffer.from(packFiles("1").pack));
    expect(storage.fetches).toHaveLength(1);
  });

  test("a file that was only touched is read once and kept", async () => {
    const generation = storage.commit("a.git", { packs: [packFiles("1")] });
    await using cache = await open();
    await read(cache);
    await utimes(artifactFile(packOf(generation)), 1, 1);
    await read(cache);
    expect(storage.fetches).toHaveLength(3);
  });

  test("damage that git reports is found behind an unchanged size and time, and repaired for the same lease", async () => {
    const generation = storage.commit("a.git", { packs: [packFiles("1")] });
    let nowMs = 0;
    await using cache = await open({}, { clock: { ...systemClock, monotonic: () => nowMs } });
    await using lease = await cache.acquire("a.git", neverAborted);
    const before = await lease.snapshot(neverAborted);
    const file = artifactFile(packOf(generation));
    const { atime, mtime } = await stat(file);
    await writeFile(file, Buffer.alloc(1000, "z"));
    await utimes(file, atime, mtime);
    nowMs = 60_000;
    expect(await cache.reportDamage(lease, neverAborted)).toBe(1);
    expect(await cache.reportDamage(lease, neverAborted)).toBe(0);
    const after = await lease.snapshot(neverAborted);
    expect(after.objectDir).not.toBe(before.objectDir);
    expect(existsSync(before.objectDir)).toBe(true);
    expect(await readFile(file)).toEqual(Buffer.from(packFiles("1").pack));
  });
});

describe("from one process to the next", () => {
  test("artifacts are used again, after a look at their digests, and leftovers of a killed process are removed", async () => {
    const generation = storage.commit("a.git", { packs: [packFiles("1"), packFiles("2")] });
    const abandoned = await open();
    await (await abandoned.acquire("a.git", neverAborted)).snapshot(neverAborted);
    await abandoned.quarantine();
    await mkdir(join(base, "cache/tmp/7"), { recursive: true });
    await writeFile(join(base, "cache/tmp/8"), "half a pack");
    await mkdir(join(base, "cache/artifacts/zz"), { recursive: true });
    await writeFile(join(base, "cache/artifacts/zz/stray"), "not ours");
    await writeFile(artifactFile(packOf(generation, 1)), Buffer.alloc(1000, "z"));
    storage.fetches.length = 0;
    await using cache = await open();
    expect(await readdir(join(base, "cache"))).toEqual(["artifacts", "tmp"]);
    expect(cache.sizeBytes).toBeGreaterThan(2000);
    expect(await read(cache)).toHaveLength(6);
    expect(storage.fetches).toEqual([packOf(generation, 1).name]);
    expect(existsSync(join(base, "cache/artifacts/zz/stray"))).toBe(false);
  });

  test("closing removes quarantines and leaves no temporary file", async () => {
    storage.commit("a.git", { packs: [packFiles("1")] });
    const cache = await open();
    await read(cache);
    const one = await cache.quarantine();
    const two = await cache.quarantine();
    expect(one.dir).not.toBe(two.dir);
    await one[Symbol.asyncDispose]();
    expect(existsSync(one.dir)).toBe(false);
    await cache[Symbol.asyncDispose]();
    expect(existsSync(two.dir)).toBe(false);
    expect(await readdir(join(base, "cache/tmp"))).toEqual([]);
    await expect(cache.acquire("a.git", neverAborted)).rejects.toMatchObject({ code: "node_unavailable" });
  });
});

describe("adoption", () => {
  async function localPack(files: PackFiles) {
    const dir = await mkdtemp(join(base, "push-"));
    const local = { packFile: join(dir, "p.pack"), indexFile: join(dir, "p.idx"), reverseIndexFile: join(dir, "p.rev"), objectCount: 1 };
    await writeFile(local.packFile, files.pack);
    await writeFile(local.indexFile, files.index);
    await writeFile(local.reverseIndexFile, files.reverseIndex as Uint8Array);
    return { local, dir };
  }

  test("the pack of a push is read without a download", async () => {
    await using cache = await open();
    const { local, dir } = await localPack(packFiles("1"));
    const generation = storage.commit("a.git", { packs: [packFiles("0"), packFiles("1")] });
    expect(await cache.adopt(generation, [local])).toBe(1);
    await rm(dir, { recursive: true });
    expect(await read(cache)).toHaveLength(6);
    expect(storage.fetches.map((name) => name.split(".").at(-1)).sort()).toEqual(["idx", "pack", "rev"]);
  });

  test("a pack that the generation does not name, or that is not what its index says, is left alone", async () => {
    await using cache = await open();
    const generation = storage.commit("a.git", { packs: [packFiles("1")] });
    const { local: foreign } = await localPack(packFiles("2"));
    const { local: broken } = await localPack({ ...packFiles("1"), pack: Buffer.alloc(1000, "z") });
    const missing = { ...broken, packFile: join(base, "none") };
    expect(await cache.adopt(generation, [foreign, broken, missing])).toBe(0);
    expect(cache.sizeBytes).toBe(0);
    await link(foreign.packFile, join(base, "kept"));
  });
});
