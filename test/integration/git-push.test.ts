import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CodedError, neverAborted } from "../../src/base/index.ts";
import type { CheckedPush, CommandResult, Git, PublishPush } from "../../src/git/index.ts";
import { encodePkt, flushPkt, PktReader } from "../../src/git/pkt-line.ts";
import { createMetrics } from "../../src/observability/index.ts";
import { GitFixture } from "../support/git-fixture.ts";
import { eventually, processesMentioning } from "../support/git-fixture-processes.ts";
import { startGit } from "../support/git-fixture-start.ts";
import { GitHttpFront } from "../support/git-http-front.ts";
import { TempRepo } from "../support/temp-repo.ts";

let git: Git;
beforeAll(async () => {
  git = await startGit();
});
afterAll(() => git[Symbol.asyncDispose]());

const zero = "0".repeat(40);

interface Bench extends AsyncDisposable {
  readonly fixture: GitFixture;
  readonly front: GitHttpFront;
  readonly work: TempRepo;
  readonly tip: string;
}

/** A repository with one commit on main, pushed from a work tree whose origin it is. */
async function bench(objectFormat: "sha1" | "sha256" = "sha1"): Promise<Bench> {
  const fixture = await GitFixture.create({ objectFormat });
  const front = await GitHttpFront.start(git, fixture);
  const work = await TempRepo.create({ objectFormat });
  const tip = await work.commit("a.txt", "one\n");
  await work.git("remote", "add", "origin", front.url);
  await work.git("push", "-q", "origin", "main");
  return {
    fixture,
    front,
    work,
    tip,
    [Symbol.asyncDispose]: async () => {
      await front[Symbol.asyncDispose]();
      await work[Symbol.asyncDispose]();
      await fixture[Symbol.asyncDispose]();
    },
  };
}

interface RawPush {
  readonly commands: readonly string[];
  readonly capabilities?: string;
  readonly shallow?: readonly string[];
  readonly pack?: Uint8Array;
}

/** Sends a push as bytes, past all that a git client would refuse by itself; answers the report's lines. */
async function rawPush(
  fixture: GitFixture,
  push: RawPush,
  publish: PublishPush = (checked) => fixture.publish(checked),
): Promise<string[]> {
  const quarantineDir = await mkdtemp(join(tmpdir(), "gitaly-test-quarantine-"));
  try {
    const body = (async function* () {
      for (const oid of push.shallow ?? []) yield encodePkt(`shallow ${oid}\n`);
      const caps = `\0${push.capabilities ?? "report-status"}`;
      for (const [index, command] of push.commands.entries()) yield encodePkt(`${command}${index === 0 ? caps : ""}`);
      yield flushPkt;
      if (push.pack) yield push.pack;
    })();
    const answer = git.receivePack(fixture.view(), body, { quarantineDir, publish, signal: neverAborted });
    const reader = new PktReader({ maxBytes: 1 << 20 }, answer);
    const lines: string[] = [];
    for (let pkt = await reader.next(); pkt?.type === "data"; pkt = await reader.next()) lines.push(pkt.payload.toString("latin1").trim());
    return lines;
  } finally {
    await rm(quarantineDir, { recursive: true, force: true });
  }
}

/** A pack of exactly these objects. */
async function packOf(repo: TempRepo, ...oids: string[]): Promise<Buffer> {
  const name = `pack-${randomBytes(4).toString("hex")}`;
  await repo.git("-c", `alias.p=!printf '%s\\n' ${oids.join(" ")} | git pack-objects -q --stdout >${name}`, "p");
  return await readFile(join(repo.dir, name));
}

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
  await using b = await bench();
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
  await using b = await bench();
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
  await using b = await bench();
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
  await using b = await bench();
  const { code, stderr } = await b.work.tryGit("push", "origin", ":main");
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("deletion of the current branch prohibited") as string });
  expect(b.fixture.refs.has("refs/heads/main")).toBe(true);
});

// B101
test("a branch cannot stand where another one's directory is, unless that one goes in the same push", async () => {
  await using b = await bench();
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
  await using b = await bench();
  await b.work.git("commit", "-q", "--amend", "-m", "other");
  expect(await b.work.tryGit("push", "origin", "main")).toMatchObject({ code: 1 });
  expect(await b.work.tryGit("push", `--force-with-lease=main:${"1".repeat(40)}`, "origin", "main")).toMatchObject({ code: 1 });
  await b.work.git("push", "-q", "--force", "origin", "main");
  expect(b.fixture.refs.get("refs/heads/main")?.oid).toBe(await b.work.git("rev-parse", "HEAD"));
});

test("an atomic push moves all of its refs or none", async () => {
  await using b = await bench();
  await b.work.commit("a.txt", "two\n");
  const { code, stderr } = await b.work.tryGit("push", "--atomic", "origin", "main:fine", "main:main/sub");
  expect(code).toBe(1);
  expect(stderr).toContain("atomic push failure");
  expect([...b.fixture.refs.keys()]).toEqual(["refs/heads/main"]);
  await b.work.git("push", "-q", "--atomic", "origin", "main:fine", "main");
  expect(b.fixture.refs.size).toBe(2);
});

test("a thousand refs are pushed at once, and deleted at once", async () => {
  await using b = await bench();
  const specs = Array.from({ length: 1000 }, (_, i) => `main:refs/heads/many/${i}`);
  await b.work.git("push", "-q", "origin", ...specs);
  expect(b.fixture.refs.size).toBe(1001);
  await b.work.git("push", "-q", "origin", ...specs.map((spec) => spec.replace("main", "")));
  expect(b.fixture.refs.size).toBe(1);
});

test("pushes at once to refs of their own all land, and of those to one ref exactly one", async () => {
  await using b = await bench();
  const pack = await packOf(b.work, b.tip);
  const distinct = Array.from({ length: 30 }, (_, i) => rawPush(b.fixture, { commands: [`${zero} ${b.tip} refs/heads/own/${i}`], pack }));
  for (const lines of await Promise.all(distinct)) expect(lines[0]).toBe("unpack ok");
  expect(b.fixture.refs.size).toBe(31);
  const same = Array.from({ length: 8 }, () => rawPush(b.fixture, { commands: [`${zero} ${b.tip} refs/heads/same`], pack }));
  const answers = (await Promise.all(same)).map((lines) => lines[1]);
  expect(answers.filter((line) => line === "ok refs/heads/same")).toHaveLength(1);
  expect(answers.filter((line) => line === "ng refs/heads/same stale info")).toHaveLength(7);
});

test("names that are not UTF-8 are kept as bytes", async () => {
  await using b = await bench();
  const lines = await rawPush(b.fixture, { commands: [`${zero} ${b.tip} refs/heads/caf\xe9`], pack: await packOf(b.work, b.tip) });
  expect(lines).toEqual(["unpack ok", "ok refs/heads/caf\xe9"]);
  expect(b.fixture.refs.get("refs/heads/caf\xe9")?.oid).toBe(b.tip);
});

test("push options reach whoever publishes", async () => {
  await using b = await bench();
  await b.work.commit("a.txt", "two\n");
  await b.work.git("push", "-q", "-o", "ci.skip", "-o", "a=b", "origin", "main");
  expect(b.fixture.pushes.at(-1)?.pushOptions).toEqual(["ci.skip", "a=b"]);
});

// B109
test("SHA-256 repositories take pushes, and each format refuses the other one's", async () => {
  await using b = await bench("sha256");
  expect(b.fixture.refs.get("refs/heads/main")?.oid).toHaveLength(64);
  await b.work.git("tag", "-m", "x", "v1");
  await b.work.git("push", "-q", "origin", "v1");
  expect(b.fixture.refs.get("refs/tags/v1")?.peeled).toBe(b.tip);
  await using other = await bench();
  const { code, stderr } = await b.work.tryGit("push", other.front.url, "main");
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/hash|algorithm|object format/);
  const lines = await rawPush(other.fixture, {
    commands: [`${"0".repeat(64)} ${b.tip} refs/heads/x`],
    capabilities: "report-status object-format=sha256",
  });
  expect(lines).toEqual(["unpack object format sha256 does not fit a sha1 repository", "ng refs/heads/x unpacker error"]);
});

test("a large pack arrives in pieces after a probe, and whole", async () => {
  await using b = await bench();
  const tip = await b.work.commit("big.bin", randomBytes(30_000_000));
  await b.work.git("push", "-q", "origin", "main");
  expect(b.fixture.refs.get("refs/heads/main")?.oid).toBe(tip);
  const again = await b.work.commit("big.bin", randomBytes(5_000_000));
  await b.work.git("-c", "http.postBuffer=200m", "push", "-q", "origin", "main");
  expect(b.fixture.refs.get("refs/heads/main")?.oid).toBe(again);
});

// B107
test("a shallow clone pushes back to where it came from, and elsewhere hears why not", async () => {
  await using b = await bench();
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

test("a missing object refuses its own ref, and the others move", async () => {
  await using b = await bench();
  const good = await b.work.commit("good.txt", "good\n");
  const goodObjects = [good, await b.work.git("rev-parse", "HEAD^{tree}"), await b.work.git("rev-parse", "HEAD:good.txt")];
  const bad = await b.work.commit("bad.txt", "bad\n");
  const badTree = await b.work.git("rev-parse", "HEAD^{tree}");
  const pack = await packOf(b.work, ...goodObjects, bad, badTree);
  const commands = [`${zero} ${good} refs/heads/good`, `${zero} ${bad} refs/heads/bad`, `${zero} ${"1".repeat(40)} refs/heads/absent`];
  expect(await rawPush(b.fixture, { commands, pack })).toEqual([
    "unpack ok",
    "ok refs/heads/good",
    "ng refs/heads/bad missing necessary objects",
    "ng refs/heads/absent missing necessary objects",
  ]);
  expect(b.fixture.refs.get("refs/heads/good")?.oid).toBe(good);
  expect(b.fixture.refs.has("refs/heads/bad")).toBe(false);
});

test("a pack that is damaged, cut short or not there is refused with all of its refs", async () => {
  await using b = await bench();
  const tip = await b.work.commit("c.txt", "c\n");
  const pack = await packOf(b.work, tip, await b.work.git("rev-parse", "HEAD^{tree}"), await b.work.git("rev-parse", "HEAD:c.txt"));
  const commands = [`${zero} ${tip} refs/heads/x`];
  const damaged = Buffer.from(pack);
  damaged.writeUInt8(damaged.readUInt8(30) ^ 0xff, 30);
  for (const bytes of [damaged, pack.subarray(0, pack.length - 25), Buffer.alloc(0), Buffer.from("PACK but not really one")]) {
    const [unpack, ref] = await rawPush(b.fixture, { commands, pack: bytes });
    expect(unpack).toMatch(/^unpack (?!ok)[^/]+$/);
    expect(ref).toBe("ng refs/heads/x unpacker error");
  }
  expect(b.fixture.refs.size).toBe(1);
});

test("objects that fsck calls broken are refused, old sins are not", async () => {
  await using b = await bench();
  const tree = await b.work.git("rev-parse", "HEAD^{tree}");
  const make = async (author: string) => {
    const text = `tree ${tree}\nauthor ${author}\ncommitter ${author}\n\nx\n`;
    await b.work.git("-c", `alias.w=!printf '%b' "${text.replaceAll("\n", "\\n")}" >raw`, "w");
    return await b.work.git("hash-object", "-t", "commit", "-w", "--literally", "raw");
  };
  const oldSin = await make("A <a@b.c> 1700000000 +51800");
  expect(await rawPush(b.fixture, { commands: [`${zero} ${oldSin} refs/heads/old`], pack: await packOf(b.work, oldSin) })).toEqual([
    "unpack ok",
    "ok refs/heads/old",
  ]);
  const broken = await make("A <a@b.c 1700000000 +0000");
  const [unpack] = await rawPush(b.fixture, { commands: [`${zero} ${broken} refs/heads/new`], pack: await packOf(b.work, broken) });
  expect(unpack).toMatch(/^unpack index-pack/);
});

test("a branch must point at a commit", async () => {
  await using b = await bench();
  const tree = await b.work.git("rev-parse", "HEAD^{tree}");
  const lines = await rawPush(b.fixture, { commands: [`${zero} ${tree} refs/heads/tree`], pack: await packOf(b.work, tree) });
  expect(lines).toEqual(["unpack ok", "ng refs/heads/tree a branch must point at a commit"]);
});

// B103
test("names that are no refs, and names that look like options, do no harm", async () => {
  await using b = await bench();
  const canary = join(b.work.dir, "pwn");
  const pack = await packOf(b.work, b.tip);
  const commands = [
    `${zero} ${b.tip} --upload-pack=touch`,
    `${zero} ${b.tip} refs/heads/--upload-pack=touch ${canary}`,
    `${zero} ${b.tip} refs/heads/--output=${canary.replaceAll("/", "-")}`,
    `${zero} ${b.tip} refs/one`,
    `${zero} ${b.tip} refs/heads/../../x`,
    `${zero} ${b.tip} refs/heads/twice`,
    `${zero} ${b.tip} refs/heads/twice`,
  ];
  const lines = await rawPush(b.fixture, { commands, pack });
  expect(lines.map((line) => line.replace(/ refs\/.*?(?= (funny|multiple)|$)/, ""))).toEqual([
    "unpack ok",
    "ng --upload-pack=touch funny refname",
    "ng funny refname",
    "ok",
    "ng funny refname",
    "ng funny refname",
    "ng multiple updates for ref not allowed",
    "ng multiple updates for ref not allowed",
  ]);
  await using clone = await TempRepo.create({ init: false });
  await clone.git("clone", "-q", b.front.url, ".");
  expect(existsSync(canary)).toBe(false);
});

test("an outcome that is not known is called so, and a failure to publish is told per ref", async () => {
  await using b = await bench();
  const push = { commands: [`${zero} ${b.tip} refs/heads/x`], pack: await packOf(b.work, b.tip) };
  const unknown = async (checked: CheckedPush): Promise<CommandResult[]> =>
    checked.commands.map(({ ref }) => ({ ref, status: "unknown", reason: "store went away" }));
  expect(await rawPush(b.fixture, push, unknown)).toEqual(["unpack ok", "ng refs/heads/x outcome unknown (fetch and compare)"]);
  const down = () => Promise.reject(new CodedError("store_unavailable", "object store does not answer"));
  expect(await rawPush(b.fixture, push, down)).toEqual(["unpack ok", "ng refs/heads/x object store does not answer"]);
  const defect = () => Promise.reject(new Error("oops"));
  expect(await rawPush(b.fixture, push, defect)).toEqual(["unpack ok", "ng refs/heads/x outcome unknown (fetch and compare)"]);
});

test("nothing is said before publishing is done, but signs of life", async () => {
  await using quick = { git: await startGit({ keepAliveMs: 20 }), [Symbol.asyncDispose]: () => quick.git[Symbol.asyncDispose]() };
  await using b = await bench();
  const quarantineDir = await mkdtemp(join(tmpdir(), "gitaly-test-quarantine-"));
  let finish = () => {};
  const publish: PublishPush = async (checked) => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return await b.fixture.publish(checked);
  };
  const body = (async function* () {
    yield encodePkt(`${zero} ${b.tip} refs/heads/x\0report-status side-band-64k quiet`);
    yield flushPkt;
    yield await packOf(b.work, b.tip);
  })();
  const reader = new PktReader(
    { maxBytes: 100_000 },
    quick.git.receivePack(b.fixture.view(), body, { quarantineDir, publish, signal: neverAborted }),
  );
  for (let i = 0; i < 3; i++) expect(await reader.next()).toEqual({ type: "data", payload: Buffer.of(1) });
  finish();
  let pkt = await reader.next();
  while (pkt?.type === "data" && pkt.payload.length === 1) pkt = await reader.next();
  expect(pkt).toMatchObject({ type: "data" });
  expect(b.fixture.refs.has("refs/heads/x")).toBe(true);
  await reader.drain(1000);
  await rm(quarantineDir, { recursive: true });
});

test("a client that leaves in the middle of its pack leaves no child, and nothing is published", async () => {
  await using b = await bench();
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

test("refs whose objects vanished with another base are found by asking again", async () => {
  await using b = await bench();
  await using other = await GitFixture.create();
  const quarantineDir = await mkdtemp(join(tmpdir(), "gitaly-test-quarantine-"));
  const commands = [{ ref: "refs/heads/x", oldOid: zero, newOid: b.tip }];
  expect(await git.disconnected(b.fixture.view(), quarantineDir, commands, neverAborted)).toEqual([]);
  expect(await git.disconnected(other.view(), quarantineDir, commands, neverAborted)).toEqual(["refs/heads/x"]);
  await rm(quarantineDir, { recursive: true });
});
