import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CodedError, neverAborted } from "../../src/base/index.ts";
import type { CheckedPush, CommandResult, Git, PublishPush } from "../../src/git/index.ts";
import { encodePkt, flushPkt, PktReader } from "../../src/git/pkt-line.ts";
import { GitFixture } from "../support/git-fixture.ts";
import { packOf, pushBench, rawPush } from "../support/git-fixture-push.ts";
import { startGit } from "../support/git-fixture-start.ts";
import { TempRepo } from "../support/temp-repo.ts";

let git: Git;
beforeAll(async () => {
  git = await startGit();
});
afterAll(() => git[Symbol.asyncDispose]());

const zero = "0".repeat(40);

test("pushes at once to refs of their own all land, and of those to one ref exactly one", async () => {
  await using b = await pushBench(git);
  const pack = await packOf(b.work, b.tip);
  const distinct = Array.from({ length: 30 }, (_, i) =>
    rawPush(git, b.fixture, { commands: [`${zero} ${b.tip} refs/heads/own/${i}`], pack }),
  );
  for (const lines of await Promise.all(distinct)) expect(lines[0]).toBe("unpack ok");
  expect(b.fixture.refs.size).toBe(31);
  const same = Array.from({ length: 8 }, () => rawPush(git, b.fixture, { commands: [`${zero} ${b.tip} refs/heads/same`], pack }));
  const answers = (await Promise.all(same)).map((lines) => lines[1]);
  expect(answers.filter((line) => line === "ok refs/heads/same")).toHaveLength(1);
  expect(answers.filter((line) => line === "ng refs/heads/same stale info")).toHaveLength(7);
});

test("names that are not UTF-8 are kept as bytes", async () => {
  await using b = await pushBench(git);
  const lines = await rawPush(git, b.fixture, { commands: [`${zero} ${b.tip} refs/heads/caf\xe9`], pack: await packOf(b.work, b.tip) });
  expect(lines).toEqual(["unpack ok", "ok refs/heads/caf\xe9"]);
  expect(b.fixture.refs.get("refs/heads/caf\xe9")?.oid).toBe(b.tip);
});

test("SHA-256 repositories take pushes, and each format refuses the other one's", async () => {
  await using b = await pushBench(git, "sha256");
  expect(b.fixture.refs.get("refs/heads/main")?.oid).toHaveLength(64);
  await b.work.git("tag", "-m", "x", "v1");
  await b.work.git("push", "-q", "origin", "v1");
  expect(b.fixture.refs.get("refs/tags/v1")?.peeled).toBe(b.tip);
  await using other = await pushBench(git);
  const { code, stderr } = await b.work.tryGit("push", other.front.url, "main");
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/hash|algorithm|object format/);
  const lines = await rawPush(git, other.fixture, {
    commands: [`${"0".repeat(64)} ${b.tip} refs/heads/x`],
    capabilities: "report-status object-format=sha256",
  });
  expect(lines).toEqual(["unpack object format sha256 does not fit a sha1 repository", "ng refs/heads/x unpacker error"]);
});

test("a missing object refuses its own ref, and the others move", async () => {
  await using b = await pushBench(git);
  const good = await b.work.commit("good.txt", "good\n");
  const goodObjects = [good, await b.work.git("rev-parse", "HEAD^{tree}"), await b.work.git("rev-parse", "HEAD:good.txt")];
  const bad = await b.work.commit("bad.txt", "bad\n");
  const badTree = await b.work.git("rev-parse", "HEAD^{tree}");
  const pack = await packOf(b.work, ...goodObjects, bad, badTree);
  const commands = [`${zero} ${good} refs/heads/good`, `${zero} ${bad} refs/heads/bad`, `${zero} ${"1".repeat(40)} refs/heads/absent`];
  expect(await rawPush(git, b.fixture, { commands, pack })).toEqual([
    "unpack ok",
    "ok refs/heads/good",
    "ng refs/heads/bad missing necessary objects",
    "ng refs/heads/absent missing necessary objects",
  ]);
  expect(b.fixture.refs.get("refs/heads/good")?.oid).toBe(good);
  expect(b.fixture.refs.has("refs/heads/bad")).toBe(false);
});

test("a pack that is damaged, cut short or not there is refused with all of its refs", async () => {
  await using b = await pushBench(git);
  const tip = await b.work.commit("c.txt", "c\n");
  const pack = await packOf(b.work, tip, await b.work.git("rev-parse", "HEAD^{tree}"), await b.work.git("rev-parse", "HEAD:c.txt"));
  const commands = [`${zero} ${tip} refs/heads/x`];
  const damaged = Buffer.from(pack);
  damaged.writeUInt8(damaged.readUInt8(30) ^ 0xff, 30);
  for (const bytes of [damaged, pack.subarray(0, pack.length - 25), Buffer.alloc(0), Buffer.from("PACK but not really one")]) {
    const [unpack, ref] = await rawPush(git, b.fixture, { commands, pack: bytes });
    expect(unpack).toMatch(/^unpack (?!ok)[^/]+$/);
    expect(ref).toBe("ng refs/heads/x unpacker error");
  }
  expect(b.fixture.refs.size).toBe(1);
});

test("objects that fsck calls broken are refused, old sins are not", async () => {
  await using b = await pushBench(git);
  const tree = await b.work.git("rev-parse", "HEAD^{tree}");
  const make = async (author: string) => {
    const text = `tree ${tree}\nauthor ${author}\ncommitter ${author}\n\nx\n`;
    await b.work.git("-c", `alias.w=!printf '%b' "${text.replaceAll("\n", "\\n")}" >raw`, "w");
    return await b.work.git("hash-object", "-t", "commit", "-w", "--literally", "raw");
  };
  const oldSin = await make("A <a@b.c> 1700000000 +51800");
  expect(await rawPush(git, b.fixture, { commands: [`${zero} ${oldSin} refs/heads/old`], pack: await packOf(b.work, oldSin) })).toEqual([
    "unpack ok",
    "ok refs/heads/old",
  ]);
  const broken = await make("A <a@b.c 1700000000 +0000");
  const [unpack] = await rawPush(git, b.fixture, { commands: [`${zero} ${broken} refs/heads/new`], pack: await packOf(b.work, broken) });
  expect(unpack).toMatch(/^unpack index-pack/);
});

test("a dangerous .gitmodules is refused, also in a pack that lacks another object", async () => {
  await using b = await pushBench(git);
  const bad = await b.work.commit(".gitmodules", '[submodule "x"]\n\tpath = x\n\turl = -u./payload\n');
  const objects = [bad, await b.work.git("rev-parse", "HEAD^{tree}"), await b.work.git("rev-parse", "HEAD:.gitmodules")];
  const lacking = await b.work.commit("lacking.txt", "lacking\n");
  const lackingTree = await b.work.git("rev-parse", "HEAD^{tree}");
  for (const pack of [await packOf(b.work, ...objects), await packOf(b.work, ...objects, lacking, lackingTree)]) {
    const [unpack, ref] = await rawPush(git, b.fixture, { commands: [`${zero} ${bad} refs/heads/bad`], pack });
    expect(unpack).toMatch(/^unpack index-pack/);
    expect(ref).toBe("ng refs/heads/bad unpacker error");
  }
});

test("a branch must point at a commit", async () => {
  await using b = await pushBench(git);
  const tree = await b.work.git("rev-parse", "HEAD^{tree}");
  const lines = await rawPush(git, b.fixture, { commands: [`${zero} ${tree} refs/heads/tree`], pack: await packOf(b.work, tree) });
  expect(lines).toEqual(["unpack ok", "ng refs/heads/tree a branch must point at a commit"]);
});

test("names that are no refs, and names that look like options, do no harm", async () => {
  await using b = await pushBench(git);
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
  const lines = await rawPush(git, b.fixture, { commands, pack });
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
  await using b = await pushBench(git);
  const push = { commands: [`${zero} ${b.tip} refs/heads/x`], pack: await packOf(b.work, b.tip) };
  const unknown = async (checked: CheckedPush): Promise<CommandResult[]> =>
    checked.commands.map(({ ref }) => ({ ref, status: "unknown", reason: "store went away" }));
  expect(await rawPush(git, b.fixture, push, unknown)).toEqual(["unpack ok", "ng refs/heads/x outcome unknown (fetch and compare)"]);
  const down = () => Promise.reject(new CodedError("store_unavailable", "object store does not answer"));
  expect(await rawPush(git, b.fixture, push, down)).toEqual(["unpack ok", "ng refs/heads/x object store does not answer"]);
  const defect = () => Promise.reject(new Error("oops"));
  expect(await rawPush(git, b.fixture, push, defect)).toEqual(["unpack ok", "ng refs/heads/x outcome unknown (fetch and compare)"]);
});

test("nothing is said before publishing is done, but signs of life", async () => {
  await using quick = { git: await startGit({ keepAliveMs: 20 }), [Symbol.asyncDispose]: () => quick.git[Symbol.asyncDispose]() };
  await using b = await pushBench(git);
  const quarantineDir = await mkdtemp(join(tmpdir(), "gitaly-test-quarantine-"));
  let finish = () => {};
  const mayFinish = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const publish: PublishPush = async (checked) => {
    await mayFinish;
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

test("refs whose objects vanished with another base are found by asking again", async () => {
  await using b = await pushBench(git);
  await using other = await GitFixture.create();
  const quarantineDir = await mkdtemp(join(tmpdir(), "gitaly-test-quarantine-"));
  const commands = [{ ref: "refs/heads/x", oldOid: zero, newOid: b.tip }];
  expect(await git.disconnected(b.fixture.view(), quarantineDir, commands, neverAborted)).toEqual([]);
  expect(await git.disconnected(other.view(), quarantineDir, commands, neverAborted)).toEqual(["refs/heads/x"]);
  await rm(quarantineDir, { recursive: true });
});
