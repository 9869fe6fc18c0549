import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Git } from "../../src/git/index.ts";
import { encodePkt, flushPkt } from "../../src/git/pkt-line.ts";
import { createMetrics } from "../../src/observability/index.ts";
import { GitFixture } from "../support/git-fixture.ts";
import { eventually, processesMentioning } from "../support/git-fixture-processes.ts";
import { packOf, pushBench } from "../support/git-fixture-push.ts";
import { startGit } from "../support/git-fixture-start.ts";
import { GitHttpFront } from "../support/git-http-front.ts";
import { TempRepo } from "../support/temp-repo.ts";

let git: Git;
beforeAll(async () => {
  git = await startGit();
});
afterAll(() => git[Symbol.asyncDispose]());

const zero = "0".repeat(40);

test.each(["auto", "direct"] as const)("a push takes two children (spawner: %s)", async (spawner) => {
  const metrics = createMetrics();
  const counted = await startGit({ spawner }, metrics);
  await using fixture = await GitFixture.create();
  await using front = await GitHttpFront.start(counted, fixture);
  await using work = await TempRepo.create();
  for (let i = 0; i < 3; i++) {
    await work.commit("a.txt", `${i}\n`);
    await work.git("push", "-q", front.url, "main");
  }
  await using clone = await TempRepo.create({ init: false });
  await clone.git("clone", "-q", front.url, ".");
  await counted[Symbol.asyncDispose]();
  const lines = (await metrics.expose()).split("\n").filter((line) => line.startsWith("gitaly_cluster_git_commands_total{"));
  expect(Object.fromEntries(lines.map((line) => [/"(.*)"/.exec(line)?.[1], Number(line.split(" ")[1])]))).toEqual({
    version: 1,
    "index-pack": 3,
    "rev-list": 3,
    "upload-pack": 1,
  });
});

test("a push makes a branch that can be cloned", async () => {
  await using b = await pushBench(git);
  expect(b.fixture.refs.get("refs/heads/main")?.oid).toBe(b.tip);
  expect(b.fixture.pushes[0]?.pack).toMatchObject({ objectCount: 3 });
  const next = await b.work.commit("a.txt", "two\n");
  const { code, stderr } = await b.work.tryGit("push", "--progress", "origin", "main");
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`${b.tip.slice(0, 7)}..${next.slice(0, 7)}`) as string });
  await using clone = await TempRepo.create({ init: false });
  await clone.git("clone", "-q", b.front.url, ".");
  expect(await clone.git("rev-parse", "HEAD")).toBe(next);
  expect(b.front.errors).toEqual([]);
  expect(await b.work.git("push", "origin", "main", "--porcelain")).toContain("up to date");
});

test("tags of every kind are pushed, and annotated ones come with what they lead to", async () => {
  await using b = await pushBench(git);
  await b.work.git("tag", "light");
  await b.work.git("tag", "-m", "one", "v1");
  await b.work.git("tag", "-m", "two", "nested", "v1");
  const blob = await b.work.git("rev-parse", "HEAD:a.txt");
  await b.work.git("tag", "blob", blob);
  await b.work.git("push", "-q", "origin", "--tags");
  expect(b.fixture.refs.get("refs/tags/light")).toEqual({ name: "refs/tags/light", oid: b.tip });
  expect(b.fixture.refs.get("refs/tags/v1")?.peeled).toBe(b.tip);
  expect(b.fixture.refs.get("refs/tags/nested")?.peeled).toBe(b.tip);
  expect(b.fixture.refs.get("refs/tags/blob")?.oid).toBe(blob);
  // The objects of v1 are here already: a second name for it brings no pack.
  await b.work.git("push", "-q", "origin", "refs/tags/v1:refs/tags/again");
  expect(b.fixture.refs.get("refs/tags/again")?.peeled).toBe(b.tip);
  expect(b.fixture.pushes.at(-1)?.pack).toBeUndefined();
});

// B95
test("deleting a branch moves no objects, and the server goes on", async () => {
  await using b = await pushBench(git);
  await b.work.git("push", "-q", "origin", "main:topic");
  await b.work.git("push", "-q", "origin", ":topic");
  expect(b.fixture.refs.has("refs/heads/topic")).toBe(false);
  expect(b.fixture.pushes.at(-1)).toEqual({
    commands: [{ ref: "refs/heads/topic", oldOid: b.tip, newOid: zero }],
    atomic: false,
    pack: undefined,
  });
  const { code, stderr } = await b.work.tryGit("push", "origin", ":refs/heads/absent");
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("remote: warning: deleting a non-existent ref") as string });
  expect(b.fixture.refs.has("refs/heads/main")).toBe(true);
});

// B97
test("the branch that HEAD names cannot be deleted", async () => {
  await using b = await pushBench(git);
  const { code, stderr } = await b.work.tryGit("push", "origin", ":main");
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("deletion of the current branch prohibited") as string });
  expect(b.fixture.refs.has("refs/heads/main")).toBe(true);
});

// B101
test("a branch cannot stand where another one's directory is, unless that one goes in the same push", async () => {
  await using b = await pushBench(git);
  await b.work.git("push", "-q", "origin", "main:a");
  const refused = await b.work.tryGit("push", "origin", "main:a/b");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("'refs/heads/a' exists");
  await b.work.git("push", "-q", "--atomic", "origin", ":a", "main:refs/heads/a/b");
  expect([...b.fixture.refs.keys()].sort()).toEqual(["refs/heads/a/b", "refs/heads/main"]);
  await using clone = await TempRepo.create({ init: false });
  await clone.git("clone", "-q", b.front.url, ".");
  expect(await clone.git("rev-parse", "origin/a/b")).toBe(b.tip);
});

test("forced pushes go through, a lease that is stale does not", async () => {
  await using b = await pushBench(git);
  await b.work.git("commit", "-q", "--amend", "-m", "other");
  expect(await b.work.tryGit("push", "origin", "main")).toMatchObject({ code: 1 });
  expect(await b.work.tryGit("push", `--force-with-lease=main:${"1".repeat(40)}`, "origin", "main")).toMatchObject({ code: 1 });
  await b.work.git("push", "-q", "--force", "origin", "main");
  expect(b.fixture.refs.get("refs/heads/main")?.oid).toBe(await b.work.git("rev-parse", "HEAD"));
});

test("an atomic push moves all of its refs or none", async () => {
  await using b = await pushBench(git);
  await b.work.commit("a.txt", "two\n");
  const { code, stderr } = await b.work.tryGit("push", "--atomic", "origin", "main:fine", "main:main/sub");
  expect(code).toBe(1);
  expect(stderr).toContain("atomic push failure");
  expect([...b.fixture.refs.keys()]).toEqual(["refs/heads/main"]);
  await b.work.git("push", "-q", "--atomic", "origin", "main:fine", "main");
  expect(b.fixture.refs.size).toBe(2);
});

test("a thousand refs are pushed at once, and deleted at once", async () => {
  await using b = await pushBench(git);
  const specs = Array.from({ length: 1000 }, (_, i) => `main:refs/heads/many/${i}`);
  await b.work.git("push", "-q", "origin", ...specs);
  expect(b.fixture.refs.size).toBe(1001);
  await b.work.git("push", "-q", "origin", ...specs.map((spec) => spec.replace("main", "")));
  expect(b.fixture.refs.size).toBe(1);
});

test("push options reach whoever publishes", async () => {
  await using b = await pushBench(git);
  await b.work.commit("a.txt", "two\n");
  await b.work.git("push", "-q", "-o", "ci.skip", "-o", "a=b", "origin", "main");
  expect(b.fixture.pushes.at(-1)?.pushOptions).toEqual(["ci.skip", "a=b"]);
});

// B109
test("a large pack arrives in pieces after a probe, and whole", async () => {
  await using b = await pushBench(git);
  const tip = await b.work.commit("big.bin", randomBytes(30_000_000));
  await b.work.git("push", "-q", "origin", "main");
  expect(b.fixture.refs.get("refs/heads/main")?.oid).toBe(tip);
  const again = await b.work.commit("big.bin", randomBytes(5_000_000));
  await b.work.git("-c", "http.postBuffer=200m", "push", "-q", "origin", "main");
  expect(b.fixture.refs.get("refs/heads/main")?.oid).toBe(again);
});

// B107
test("a shallow clone pushes back to where it came from, and elsewhere hears why not", async () => {
  await using b = await pushBench(git);
  await b.work.commit("a.txt", "two\n");
  await b.work.git("push", "-q", "origin", "main");
  await using shallow = await TempRepo.create({ init: false });
  await shallow.git("clone", "-q", "--depth", "1", b.front.url, ".");
  const tip = await shallow.commit("b.txt", "new\n");
  await shallow.git("push", "-q", "origin", "main");
  expect(b.fixture.refs.get("refs/heads/main")?.oid).toBe(tip);
  await using empty = await GitFixture.create();
  await using front = await GitHttpFront.start(git, empty);
  const { code, stderr } = await shallow.tryGit("push", front.url, "main");
  expect(code).toBe(1);
  expect(stderr).toContain("shallow update not allowed");
  expect(empty.refs.size).toBe(0);
});

// B103
test("a client that leaves in the middle of its pack leaves no child, and nothing is published", async () => {
  await using b = await pushBench(git);
  const tip = await b.work.commit("big.bin", randomBytes(2_000_000));
  const pack = await packOf(b.work, tip, await b.work.git("rev-parse", "HEAD^{tree}"), await b.work.git("rev-parse", "HEAD:big.bin"));
  const left = new AbortController();
  const stall = { stalled: false };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encodePkt(`${zero} ${tip} refs/heads/x\0report-status side-band-64k`));
      controller.enqueue(flushPkt);
      controller.enqueue(pack.subarray(0, 1_000_000));
      stall.stalled = true;
    },
  });
  const request = fetch(`${b.front.url}/git-receive-pack`, { method: "POST", body, duplex: "half", signal: left.signal } as RequestInit);
  const failed = expect(request).rejects.toThrow();
  expect(await eventually(() => processesMentioning(b.fixture.dir).length > 0, 5000)).toBe(true);
  left.abort();
  await failed;
  expect(await eventually(() => processesMentioning(b.fixture.dir).length === 0, 5000)).toBe(true);
  expect(await eventually(() => b.front.errors.length === 1, 5000)).toBe(true);
  expect([...b.fixture.refs.keys()]).toEqual(["refs/heads/main"]);
  expect((await readdir(join(b.fixture.dir, "objects", "pack"))).filter((name) => name.endsWith(".pack"))).toHaveLength(1);
});
