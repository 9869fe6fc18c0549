import { existsSync } from "node:fs";
import { link, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CodedError, neverAborted, systemClock } from "../../../src/base/index.ts";
import type { RepositoryCache } from "../../../src/cache/index.ts";
import { CacheFixture, packFiles, packOf, readPacks as read } from "../../support/cache-fixture.ts";
import { deferred } from "../../support/deferred.ts";
import { type FakeRepositoryStorage, fakeId, type PackFiles } from "../../support/fake-repository-storage.ts";

let fixture: CacheFixture;
let storage: FakeRepositoryStorage;
let base: string;

beforeEach(async () => {
  fixture = await CacheFixture.create();
  ({ storage, base } = fixture);
});
afterEach(() => fixture[Symbol.asyncDispose]());

const open: CacheFixture["open"] = (...args) => fixture.open(...args);

describe("limits", () => {
  test("a repository larger than the cache is served with one download a read and dropped when its lease ends", async () => {
    // B15
    storage.commit("a.git", { packs: [packFiles("1", 12_000)] });
    storage.commit("small.git", { packs: [packFiles("2", 500)] });
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
    const b = storage.commit("b.git", { packs: [packFiles("b", 4000)] });
    const c = storage.commit("c.git", { packs: [packFiles("c", 4000)] });
    await using cache = await open({ maxBytes: 9000 });
    const lease = await cache.acquire("a.git", neverAborted);
    const { objectDir } = await lease.snapshot(neverAborted);
    await read(cache, "b.git");
    await read(cache, "c.git");
    expect(existsSync(fixture.artifactFile(packOf(a)))).toBe(true);
    expect(existsSync(fixture.artifactFile(packOf(b)))).toBe(false);
    expect(existsSync(fixture.artifactFile(packOf(c)))).toBe(true);
    expect(await readdir(join(objectDir, "pack"))).toHaveLength(3);
    await lease[Symbol.asyncDispose]();
    await read(cache, "b.git");
    expect(existsSync(fixture.artifactFile(packOf(a)))).toBe(false);
    expect(existsSync(objectDir)).toBe(false);
    expect(cache.sizeBytes).toBeLessThanOrEqual(9000);
  });

  test("a full disk evicts what no one reads, and is limit_exceeded when that is not enough", async () => {
    storage.commit("a.git", { packs: [packFiles("a", 4000)] });
    storage.commit("b.git", { packs: [packFiles("b", 4000)] });
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

  test("what a running download has written is not asked for a second time", async () => {
    storage.commit("large.git", { packs: [packFiles("large", 4000)] });
    storage.commit("small.git", { packs: [packFiles("small", 400)] });
    const [half, rest] = [deferred(), deferred()];
    let writtenBytes = 0;
    await using cache = await open(
      {},
      {
        freeBytes: async () => 5000 - writtenBytes,
        storage: {
          newest: (path) => storage.newest(path),
          refTable: (generation) => storage.refTable(generation),
          fetchArtifact: async (generation, artifact, file, signal) => {
            if (artifact.sizeBytes === 4000) {
              await writeFile(file, Buffer.alloc(3000));
              writtenBytes = 3000;
              half.resolve();
              await rest.promise;
              await rm(file);
            }
            await storage.fetchArtifact(generation, artifact, file, signal);
          },
        },
      },
    );
    const large = read(cache, "large.git");
    await half.promise;
    expect(await read(cache, "small.git")).toHaveLength(3);
    rest.resolve();
    expect(await large).toHaveLength(3);
  });

  test("ENOSPC during a download evicts and tries once more", async () => {
    storage.commit("a.git", { packs: [packFiles("a", 4000)] });
    storage.commit("b.git", { packs: [packFiles("b", 4000)] });
    await using cache = await open({ minFreeBytes: 4000 });
    await read(cache, "a.git");
    storage.beforeFetch = async () => {
      if (cache.sizeBytes < 4000) return;
      throw new CodedError("limit_exceeded", "the local disk is full", { errno: "ENOSPC" });
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
    storage.commit("a.git", { repoId: fakeId("second life"), keep: [], refs: [] });
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
    await damage(fixture.artifactFile(packOf(generation)));
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
    await utimes(fixture.artifactFile(packOf(generation)), 1, 1);
    await read(cache);
    expect(storage.fetches).toHaveLength(3);
  });

  test("damage that git reports is found behind an unchanged size and time, and repaired for the same lease", async () => {
    const generation = storage.commit("a.git", { packs: [packFiles("1")] });
    let nowMs = 0;
    await using cache = await open({}, { clock: { ...systemClock, monotonic: () => nowMs } });
    await using lease = await cache.acquire("a.git", neverAborted);
    const before = await lease.snapshot(neverAborted);
    const file = fixture.artifactFile(packOf(generation));
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

test("a snapshot directory that lost a file is damage too, and one that is whole stays in use", async () => {
  storage.commit("a.git", { packs: [packFiles("1")] });
  await using cache = await open();
  await using lease = await cache.acquire("a.git", neverAborted);
  const before = await lease.snapshot(neverAborted);
  expect(await cache.reportDamage(lease, neverAborted)).toBe(0);
  expect(await lease.snapshot(neverAborted)).toEqual(before);
  await rm(join(before.gitDir, "packed-refs"));
  await rm(join(before.objectDir, "pack"), { recursive: true });
  expect(await cache.reportDamage(lease, neverAborted)).toBe(2);
  const after = await lease.snapshot(neverAborted);
  expect(await readdir(join(after.objectDir, "pack"))).toHaveLength(3);
  expect(existsSync(join(after.gitDir, "packed-refs"))).toBe(true);
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
    await symlink("nowhere", join(base, "cache/artifacts/zz/dangling"));
    await writeFile(fixture.artifactFile(packOf(generation, 1)), Buffer.alloc(1000, "z"));
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
