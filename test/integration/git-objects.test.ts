import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { neverAborted, systemClock } from "../../src/base/index.ts";
import { CatfilePool } from "../../src/git/catfile-pool.ts";
import { DirectSpawner } from "../../src/git/direct-spawner.ts";
import type { Git } from "../../src/git/index.ts";
import { defaultProcessGateOptions, ProcessGate } from "../../src/git/process-gate.ts";
import type { Spawner } from "../../src/git/spawner.ts";
import { noMetrics } from "../../src/observability/index.ts";
import { GitFixture } from "../support/git-fixture.ts";
import { eventually, processesMentioning } from "../support/git-fixture-processes.ts";
import { startGit } from "../support/git-fixture-start.ts";
import { tempDir } from "../support/temp-dir.ts";
import { TempRepo } from "../support/temp-repo.ts";

let git: Git;
beforeAll(async () => {
  git = await startGit();
});
afterAll(() => git[Symbol.asyncDispose]());

async function filled(
  objectFormat: "sha1" | "sha256" = "sha1",
): Promise<{ fixture: GitFixture; source: TempRepo; oids: string[] } & AsyncDisposable> {
  const fixture = await GitFixture.create({ objectFormat });
  const source = await TempRepo.create({ objectFormat });
  const oids: string[] = [];
  for (let i = 0; i < 4; i++) oids.push(await source.commit("a.txt", `${i}\n`));
  await source.git("tag", "-m", "release", "v1", "HEAD~1");
  await source.git("branch", "side", "HEAD~2");
  await fixture.takeFrom(source);
  const close = async () => {
    await source[Symbol.asyncDispose]();
    await fixture[Symbol.asyncDispose]();
  };
  return { fixture, source, oids, [Symbol.asyncDispose]: close };
}

test.each(["sha1", "sha256"] as const)("revisions of a %s repository name what they name in git", async (objectFormat) => {
  await using f = await filled(objectFormat);
  const view = f.fixture.view();
  const tip = f.oids[3] as string;
  const revisions = [
    "HEAD",
    "@",
    "main",
    "heads/main",
    "refs/heads/main",
    "v1",
    "v1^{}",
    "v1^{commit}",
    "tags/v1",
    "side",
    "side^",
    "main~3",
  ];
  revisions.push("HEAD^{tree}", "main^0", "main^1~1", "v1~1", tip, tip.toUpperCase(), tip.slice(0, 10), `${tip}^{commit}`, `${tip}~2`);
  for (const revision of revisions) {
    const object = await git.readObject(view, revision, "any", neverAborted);
    expect([revision, object?.oid]).toEqual([revision, await f.source.git("rev-parse", revision)]);
    expect(object?.type).toBe(await f.source.git("cat-file", "-t", revision));
    expect(object?.content).toHaveLength(object?.sizeBytes ?? -1);
  }
  const commit = await git.readObject(view, "v1", "commit", neverAborted);
  expect(commit).toMatchObject({ oid: f.oids[2], type: "commit" });
  expect(Buffer.from(commit?.content ?? []).toString()).toBe(`${await f.source.git("cat-file", "commit", "v1")}\n`);
});

test("what has no name, and what is no commit where one is wanted, is undefined", async () => {
  await using f = await filled();
  const view = f.fixture.view();
  for (const revision of ["absent", "main~9", "main^2", "0000000", "1".repeat(40), "main^{tag}", "refs/heads", "v1..main", "main@{1}"]) {
    expect([revision, await git.readObject(view, revision, "any", neverAborted)]).toEqual([revision, undefined]);
  }
  const tree = await f.source.git("rev-parse", "HEAD^{tree}");
  expect(await git.readObject(view, tree, "commit", neverAborted)).toBeUndefined();
  const empty = await GitFixture.create();
  expect(await git.readObject(empty.view(), "HEAD", "commit", neverAborted)).toBeUndefined();
  await empty[Symbol.asyncDispose]();
});

// B103
test("a revision can never be an option, nor a second line", async () => {
  await using f = await filled();
  for (const revision of ["--output=/tmp/gitaly-pwn", "-x", "", "a b", "a\nb", "a\0b", "HEAD:a.txt", "a\\b"]) {
    await expect(git.readObject(f.fixture.view(), revision, "any", neverAborted)).rejects.toMatchObject({ code: "invalid_argument" });
  }
  expect(existsSync("/tmp/gitaly-pwn")).toBe(false);
});

test("one process serves many reads, and those of later pushes", async () => {
  await using f = await filled();
  const view = f.fixture.view();
  const reads = Array.from({ length: 200 }, (_, i) => git.readObject(view, `main~${i % 4}`, "commit", neverAborted));
  const objects = await Promise.all(reads);
  expect(objects.map((object) => object?.oid)).toEqual(Array.from({ length: 200 }, (_, i) => f.oids[3 - (i % 4)]));
  const pool = processesMentioning(f.fixture.dir);
  expect(pool).toHaveLength(1);
  const next = await f.source.commit("a.txt", "later\n");
  await f.source.git("config", "gc.auto", "0");
  await f.fixture.takeFrom(f.source);
  expect((await git.readObject(f.fixture.view(), "main", "commit", neverAborted))?.oid).toBe(next);
  expect(processesMentioning(f.fixture.dir)).toEqual(pool);
});

test("a process that died is replaced without the caller noticing", async () => {
  await using f = await filled();
  const read = () => git.readObject(f.fixture.view(), "main", "commit", neverAborted);
  await read();
  const [line = ""] = processesMentioning(f.fixture.dir);
  process.kill(Number.parseInt(line, 10), "SIGKILL");
  const objects = await Promise.all([read(), read(), read()]);
  expect(objects.map((object) => object?.oid)).toEqual([f.oids[3], f.oids[3], f.oids[3]]);
});

test("a reader that leaves does not spoil the answers of the others", async () => {
  await using f = await filled();
  const view = f.fixture.view();
  const left = new AbortController();
  const leaving = git.readObject(view, "main", "commit", left.signal);
  const staying = git.readObject(view, "side", "commit", neverAborted);
  left.abort(new Error("left"));
  await expect(leaving).rejects.toThrow("left");
  expect((await staying)?.oid).toBe(f.oids[1]);
});

test("resting processes end by themselves, and the longest resting one makes room", async () => {
  const small = await startGit({ maxCatfileProcesses: 1, catfileIdleMs: 200 });
  await using a = await filled();
  await using b = await filled();
  await small.readObject(a.fixture.view(), "main", "commit", neverAborted);
  await small.readObject(b.fixture.view(), "main", "commit", neverAborted);
  expect(await eventually(() => processesMentioning(a.fixture.dir).length === 0, 5000)).toBe(true);
  expect(await eventually(() => processesMentioning(b.fixture.dir).length === 0, 5000)).toBe(true);
  await small[Symbol.asyncDispose]();
  await expect(small.readObject(a.fixture.view(), "main", "commit", neverAborted)).rejects.toMatchObject({ code: "git_failed" });
});

test("objects beyond the limit are refused by their size", async () => {
  const small = await startGit({ maxObjectBytes: 100 });
  await using f = await filled();
  await expect(small.readObject(f.fixture.view(), "main", "commit", neverAborted)).rejects.toMatchObject({ code: "limit_exceeded" });
  await small[Symbol.asyncDispose]();
});

test("a directory of its own loses what an earlier process left there, and goes with the git", async () => {
  await using dir = await tempDir();
  const own = join(dir.path, "own");
  await mkdir(join(own, "gitaly-spawner-old"), { recursive: true });
  const other = await startGit({ tempDir: own });
  expect(await readdir(own)).not.toContain("gitaly-spawner-old");
  await using f = await filled();
  expect((await other.readObject(f.fixture.view(), "main", "commit", neverAborted))?.oid).toBe(f.oids[3]);
  await other[Symbol.asyncDispose]();
  expect(existsSync(own)).toBe(false);
});

/** A pool whose processes start when `ready` resolves; `most` is how many there were at one time. */
async function watchedPool(maxProcesses: number, ready: (() => Promise<void>) | undefined = undefined) {
  const dir = await tempDir();
  const direct = new DirectSpawner();
  const seen = { running: 0, most: 0, started: 0 };
  const spawn: Spawner["spawn"] = async (...args) => {
    await ready?.();
    const child = await direct.spawn(...args);
    seen.started++;
    seen.most = Math.max(seen.most, ++seen.running);
    void child.exited.then(() => seen.running--);
    return child;
  };
  const parts = { clock: systemClock, metrics: noMetrics };
  const gate = new ProcessGate(defaultProcessGateOptions, { ...parts, spawner: { spawn, [Symbol.asyncDispose]: async () => {} } });
  const pool = new CatfilePool({ maxProcesses, idleMs: 300, dir: dir.path }, { ...parts, gate });
  await pool.prepare();
  const close = async () => {
    await pool[Symbol.asyncDispose]();
    await direct[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  };
  return { pool, seen, [Symbol.asyncDispose]: close };
}

test("a process whose caller left while it was started ends after its rest", async () => {
  await using f = await filled();
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await using watched = await watchedPool(4, () => {
    asked();
    return released;
  });
  const left = new AbortController();
  const leaving = watched.pool.with(f.fixture.view(), left.signal, (catfile) => catfile.info("1234", left.signal));
  await isAsked;
  left.abort(new Error("left"));
  await expect(leaving).rejects.toThrow("left");
  release();
  expect(await eventually(() => watched.seen.started === 1 && watched.seen.running === 0, 5000)).toBe(true);
});

test("however many repositories are read at once, there are only so many processes, and each reader gets its turn", async () => {
  await using a = await filled();
  await using b = await filled();
  await using c = await filled();
  await using watched = await watchedPool(2);
  const reads = Array.from({ length: 30 }, async (_, i) => {
    const { fixture, oids } = [a, b, c][i % 3] as typeof a;
    const tip = oids[3] as string;
    const info = await watched.pool.with(fixture.view(), neverAborted, async (catfile) => {
      await new Promise(setImmediate);
      return await catfile.info(tip, neverAborted);
    });
    expect(info?.oid).toBe(tip);
  });
  await Promise.all(reads);
  expect(watched.seen.most).toBe(2);
});

test("a git that is missing is named at start", async () => {
  await expect(startGit({ binPath: "/nonexistent/git" })).rejects.toMatchObject({
    code: "bad_config",
    fields: { binPath: "/nonexistent/git" },
  });
});
