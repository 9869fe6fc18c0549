import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CodedError, neverAborted } from "../../../src/base/index.ts";
import { silentLogger } from "../../../src/observability/index.ts";
import type { Generation } from "../../../src/storage/index.ts";
import { CacheFixture, packFiles, packOf, readPacks as read } from "../../support/cache-fixture.ts";
import { deferred } from "../../support/deferred.ts";
import type { FakeRepositoryStorage } from "../../support/fake-repository-storage.ts";

let fixture: CacheFixture;
let storage: FakeRepositoryStorage;
let base: string;

beforeEach(async () => {
  fixture = await CacheFixture.create();
  ({ storage, base } = fixture);
});
afterEach(() => fixture[Symbol.asyncDispose]());

const open: CacheFixture["open"] = (...args) => fixture.open(...args);

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

  test("ref tables are kept in memory up to a number of bytes, however long their names are", async () => {
    for (const path of ["long.git", "other.git"]) {
      storage.commit(path, { refs: [{ name: `refs/heads/${path}${"x".repeat(4000)}`, oid: "1".repeat(40) }] });
    }
    const loads: string[] = [];
    const counted = {
      newest: (path: string) => storage.newest(path),
      fetchArtifact: storage.fetchArtifact.bind(storage),
      refTable: async (generation: Generation) => {
        loads.push(generation.path);
        return await storage.refTable(generation);
      },
    };
    await using cache = await fixture.open({ maxRefTableBytes: 6000 }, { storage: counted });
    for (const path of ["long.git", "long.git", "other.git", "long.git"]) {
      await (await cache.acquire(path, neverAborted))[Symbol.asyncDispose]();
    }
    expect(loads).toEqual(["long.git", "other.git", "long.git"]);
  });

  test("a snapshot holds HEAD, refs, packed refs, config and exactly the packs of its manifest", async () => {
    const first = storage.commit("a.git", { packs: [packFiles("1")], refs: [{ name: "refs/heads/main", oid: "1".repeat(40) }] });
    storage.commit("other.git", { packs: [packFiles("2")], keep: first.packs });
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
    const started = deferred();
    const gate = deferred();
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
