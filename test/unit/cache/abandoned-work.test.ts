import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { neverAborted } from "../../../src/base/index.ts";
import { PinnedDirs } from "../../../src/cache/pinned-dirs.ts";
import { Trash } from "../../../src/cache/trash.ts";
import { silentLogger } from "../../../src/observability/index.ts";
import { CacheFixture, packFiles } from "../../support/cache-fixture.ts";
import { deferred } from "../../support/deferred.ts";
import { simRandom } from "../../support/sim-random.ts";
import { tempDir } from "../../support/temp-dir.ts";

// Work whose callers have all gone may be past the point where it looks at its signal; a newcomer's runs beside it.

test("a download that goes on though its caller left is not counted beside the one that took its place", async () => {
  await using fixture = await CacheFixture.create();
  const { storage } = fixture;
  const files = packFiles("one");
  storage.commit("a.git", { packs: [files] });
  const gates: (() => void)[] = [];
  await using cache = await fixture.open(
    {},
    {
      storage: {
        newest: (path) => storage.newest(path),
        refTable: (generation) => storage.refTable(generation),
        fetchArtifact: async (generation, artifact, file) => {
          await new Promise<void>((resolve) => gates.push(resolve));
          await storage.fetchArtifact(generation, artifact, file, neverAborted);
        },
      },
    },
  );
  await using lease = await cache.acquire("a.git", neverAborted);
  const leaving = new AbortController();
  const left = lease.snapshot(leaving.signal);
  const artifacts = Object.keys(files).length;
  while (gates.length < artifacts) await new Promise((resolve) => setImmediate(resolve));
  leaving.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  const stayed = lease.snapshot(neverAborted);
  while (gates.length < 2 * artifacts) await new Promise((resolve) => setImmediate(resolve));
  for (const open of gates) open();
  const { objectDir } = await stayed;
  expect(await readdir(join(objectDir, "pack"))).toHaveLength(artifacts);
  await lease[Symbol.asyncDispose]();
  await cache[Symbol.asyncDispose]();
  expect(cache.sizeBytes).toBe(Object.values(files).reduce((sum, bytes) => sum + bytes.length, 0));
  expect(await readdir(join(fixture.base, "cache/tmp"))).toEqual([]);
});

test.each([
  [0, 1],
  [1, 0],
])("of two builds of one directory one is kept and handed out, whichever ends first (%i, %i)", async (...order) => {
  await using dir = await tempDir();
  const place = (name: string) => join(dir.path, name);
  await mkdir(place("tmp"));
  const trash = new Trash({ dir: place("tmp") }, { logger: silentLogger });
  const dirs = new PinnedDirs({ dir: place("dirs"), maxIdle: 10 }, { trash, random: simRandom(1) });
  const pinned = dirs.pin("r", 1, "k");
  const gates = [deferred<void>(), deferred<void>()];
  const build = (i: number) => async (into: string) => {
    await gates[i]?.promise;
    await writeFile(join(into, "file"), String(i));
  };
  const leaving = new AbortController();
  const left = dirs.ready(pinned, leaving.signal, build(0));
  leaving.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  const stayed = dirs.ready(pinned, neverAborted, build(1));
  const paths: string[] = [];
  for (const i of order) {
    gates[i]?.resolve();
    while (pinned.pins > 3 - order.indexOf(i) - 1) await new Promise((resolve) => setImmediate(resolve));
    paths.push(pinned.path as string);
  }
  expect(await stayed).toBe(pinned.path);
  expect(new Set(paths).size).toBe(1);
  await trash.settled();
  expect((await readdir(place("dirs"))).map((name) => place(`dirs/${name}`))).toEqual([pinned.path]);
  dirs.retire(pinned);
  dirs.unpin(pinned);
  await trash.settled();
  expect([...(await readdir(place("dirs"))), ...(await readdir(place("tmp")))]).toEqual([]);
});
