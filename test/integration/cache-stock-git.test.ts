import { execFile } from "node:child_process";
import { mkdtemp, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { neverAborted, systemClock, systemRandom } from "../../src/base/index.ts";
import { createRepositoryCache, type RepositoryCache } from "../../src/cache/index.ts";
import { noMetrics, silentLogger } from "../../src/observability/index.ts";
import type { RefEntry } from "../../src/storage/index.ts";
import { FakeRepositoryStorage, type PackFiles } from "../support/fake-repository-storage.ts";

const run = promisify(execFile);
let base: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "cache-git-"));
});
afterEach(() => rm(base, { recursive: true, force: true }));

async function git(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const identity = { GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@example", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@example" };
  const clean = { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", PATH: process.env["PATH"] ?? "", HOME: base };
  const { stdout } = await run("git", args as string[], { env: { ...identity, ...clean, ...env } });
  return stdout.trim();
}

/** A repository that stock git made and packed, as a generation of the storage. */
async function packedRepository(storage: FakeRepositoryStorage, format: "sha1" | "sha256"): Promise<{ tip: string }> {
  const dir = join(base, "source");
  await git(["init", "-q", "-b", "main", `--object-format=${format}`, dir]);
  for (let n = 0; n < 5; n++) {
    await writeFile(join(dir, `file-${n}`), `content ${n}\n`.repeat(100));
    await git(["-C", dir, "add", "."]);
    await git(["-C", dir, "commit", "-q", "-m", `commit ${n}`]);
  }
  await git(["-C", dir, "tag", "-a", "-m", "tag", "v1"]);
  await git(["-C", dir, "-c", "pack.writeReverseIndex=true", "repack", "-q", "-a", "-d", "-b"]);
  const packDir = join(dir, ".git/objects/pack");
  const names = await readdir(packDir);
  const file = async (extension: string) => readFile(join(packDir, names.find((name) => name.endsWith(extension)) as string));
  const files: PackFiles = {
    pack: await file(".pack"),
    index: await file(".idx"),
    reverseIndex: await file(".rev"),
    bitmap: await file(".bitmap"),
  };
  const refs: RefEntry[] = (await git(["-C", dir, "for-each-ref", "--format=%(refname) %(objectname) %(*objectname)"]))
    .split("\n")
    .map((line) => {
      const [name, oid, peeled] = line.split(" ") as [string, string, string | undefined];
      return { name, oid, ...(peeled ? { peeled } : {}) };
    });
  storage.commit("a.git", { packs: [files], refs, format });
  return { tip: await git(["-C", dir, "rev-parse", "HEAD"]) };
}

const openCache = (storage: FakeRepositoryStorage): Promise<RepositoryCache> =>
  createRepositoryCache(
    { dir: join(base, "cache"), minFreeBytes: 0 },
    { storage, clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics },
  );

describe.each(["sha1", "sha256"] as const)("a snapshot of a %s repository", (format) => {
  test("passes git fsck, has a usable bitmap, and can be cloned through upload-pack", async () => {
    const storage = new FakeRepositoryStorage();
    const { tip } = await packedRepository(storage, format);
    await using cache = await openCache(storage);
    await using lease = await cache.acquire("a.git", neverAborted);
    const { gitDir, objectDir } = await lease.snapshot(neverAborted);
    const env = { GIT_DIR: gitDir, GIT_OBJECT_DIRECTORY: objectDir };
    await git(["fsck", "--full", "--strict"], env);
    expect(await git(["rev-parse", "v1^{commit}"], env)).toBe(tip);
    expect(await git(["rev-list", "--count", "--use-bitmap-index", "--all"], env)).toBe("5");
    const uploadPack = `GIT_OBJECT_DIRECTORY='${objectDir}' git-upload-pack`;
    await git(["clone", "-q", "--upload-pack", uploadPack, `file://${gitDir}`, join(base, "clone")]);
    expect(await git(["-C", join(base, "clone"), "rev-parse", "HEAD"])).toBe(tip);
  });
});

test.each([".pack", ".idx"])("a clone after one byte of the cached %s was cut off is whole again", async (extension) => {
  // B09
  const storage = new FakeRepositoryStorage();
  await packedRepository(storage, "sha1");
  await using cache = await openCache(storage);
  const objectsOf = async () => {
    await using lease = await cache.acquire("a.git", neverAborted);
    const { gitDir, objectDir } = await lease.snapshot(neverAborted);
    return git(["fsck", "--full", "--strict"], { GIT_DIR: gitDir, GIT_OBJECT_DIRECTORY: objectDir }).then(() => objectDir);
  };
  const packDir = join(await objectsOf(), "pack");
  const damaged = join(packDir, (await readdir(packDir)).find((name) => name.endsWith(extension)) as string);
  await using handle = await open(damaged, "r+");
  await handle.truncate((await stat(damaged)).size - 1);
  storage.fetches.length = 0;
  await objectsOf();
  expect(storage.fetches).toHaveLength(1);
});

test("an empty repository is one that git can clone, with its unborn branch", async () => {
  const storage = new FakeRepositoryStorage();
  storage.commit("a.git", {});
  await using cache = await openCache(storage);
  await using lease = await cache.acquire("a.git", neverAborted);
  const { gitDir, objectDir } = await lease.snapshot(neverAborted);
  await git([
    "clone",
    "-q",
    "--upload-pack",
    `GIT_OBJECT_DIRECTORY='${objectDir}' git-upload-pack`,
    `file://${gitDir}`,
    join(base, "clone"),
  ]);
  expect(await git(["-C", join(base, "clone"), "symbolic-ref", "HEAD"])).toBe("refs/heads/main");
});
