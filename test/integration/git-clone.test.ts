import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import type { Git } from "../../src/git/index.ts";
import { encodePkt, flushPkt } from "../../src/git/pkt-line.ts";
import { GitFixture } from "../support/git-fixture.ts";
import { defunctGit, eventually, processesMentioning } from "../support/git-fixture-processes.ts";
import { startGit } from "../support/git-fixture-start.ts";
import { GitHttpFront } from "../support/git-http-front.ts";
import { TempRepo } from "../support/temp-repo.ts";

let git: Git;
beforeAll(async () => {
  git = await startGit();
});
afterAll(() => git[Symbol.asyncDispose]());

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* bodyOf(...pkts: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const pkt of pkts) yield typeof pkt === "string" ? encodePkt(pkt) : pkt;
}

/** A repository that takes a while to send. */
async function bigFixture(sizeBytes: number): Promise<GitFixture & { readonly tip: string }> {
  const fixture = await GitFixture.create();
  await using source = await TempRepo.create();
  const tip = await source.commit("big.bin", randomBytes(sizeBytes));
  await fixture.takeFrom(source);
  return Object.assign(fixture, { tip });
}

test.each([0, 1, 2])("stock git clones, fetches and lists with protocol version %d", async (version) => {
  await using fixture = await GitFixture.create();
  await using source = await TempRepo.create();
  const first = await source.commit("a.txt", "one\n");
  await source.git("tag", "-m", "release", "v1");
  await fixture.takeFrom(source);
  await using front = await GitHttpFront.start(git, fixture);
  await using client = await TempRepo.create({ init: false });
  await client.git("-c", `protocol.version=${version}`, "clone", "-q", front.url, ".");
  expect(await client.git("rev-parse", "HEAD")).toBe(first);
  const listed = await client.git("-c", `protocol.version=${version}`, "ls-remote", "--symref", "origin");
  expect(listed.split("\n")).toEqual([
    "ref: refs/heads/main\tHEAD",
    `${first}\tHEAD`,
    `${first}\trefs/heads/main`,
    `${await source.git("rev-parse", "v1")}\trefs/tags/v1`,
    `${first}\trefs/tags/v1^{}`,
  ]);
  const second = await source.commit("a.txt", "two\n");
  await fixture.takeFrom(source);
  await client.git("-c", `protocol.version=${version}`, "fetch", "-q");
  expect(await client.git("rev-parse", "origin/main")).toBe(second);
  expect(front.errors).toEqual([]);
});

// B98, B99
test.each([0, 2])("an empty repository clones with protocol version %d, and v2 tells its unborn branch", async (version) => {
  await using fixture = await GitFixture.create({ head: "refs/heads/trunk" });
  await using front = await GitHttpFront.start(git, fixture);
  await using client = await TempRepo.create({ init: false });
  const { code, stderr } = await client.tryGit("-c", `protocol.version=${version}`, "clone", front.url, ".");
  expect({ code, warned: stderr.includes("You appear to have cloned an empty repository") }).toEqual({ code: 0, warned: true });
  if (version === 2) expect(await client.git("symbolic-ref", "HEAD")).toBe("refs/heads/trunk");
});

// B98
test("a repository whose HEAD names no branch that exists still clones", async () => {
  await using fixture = await GitFixture.create({ head: "refs/heads/main" });
  await using source = await TempRepo.create();
  const tip = await source.commit("a.txt", "one\n");
  await source.git("branch", "-m", "dev");
  await fixture.takeFrom(source);
  await using front = await GitHttpFront.start(git, fixture);
  await using plain = await TempRepo.create({ init: false });
  expect(await plain.tryGit("clone", "-q", front.url, ".")).toMatchObject({ code: 0 });
  await using named = await TempRepo.create({ init: false });
  await named.git("clone", "-q", "-b", "dev", front.url, ".");
  expect(await named.git("rev-parse", "HEAD")).toBe(tip);
});

// B105
test.each([0, 2])("shallow clones, deepening and shallow fetches end with protocol version %d", async (version) => {
  await using fixture = await GitFixture.create();
  await using source = await TempRepo.create();
  for (let i = 0; i < 5; i++) await source.commit("a.txt", `${i}\n`);
  await fixture.takeFrom(source);
  await using front = await GitHttpFront.start(git, fixture);
  await using client = await TempRepo.create({ init: false });
  const config = ["-c", `protocol.version=${version}`];
  await client.git(...config, "clone", "-q", "--depth", "1", front.url, ".");
  expect(await client.git("rev-list", "--count", "HEAD")).toBe("1");
  await client.git(...config, "fetch", "-q", "--deepen", "2");
  expect(await client.git("rev-list", "--count", "HEAD")).toBe("3");
  await source.commit("a.txt", "new\n");
  await fixture.takeFrom(source);
  await client.git(...config, "fetch", "-q");
  expect(await client.git("rev-list", "--count", "origin/main")).toBe("4");
  await client.git(...config, "fetch", "-q", "--unshallow");
  expect(await client.git("rev-list", "--count", "origin/main")).toBe("6");
  expect(front.errors).toEqual([]);
  expect(processesMentioning(fixture.dir)).toEqual([]);
});

// B106
test("a depth of zero is an error and never hangs", async () => {
  await using fixture = await bigFixture(10);
  const request = bodyOf(`want ${fixture.tip} shallow\n`, "deepen 0\n", flushPkt);
  await expect(collect(git.uploadPack(fixture.view(), request, { gitProtocol: "", signal: neverAborted }))).rejects.toMatchObject({
    code: "git_failed",
  });
});

test("a partial clone fetches missing blobs later", async () => {
  await using fixture = await GitFixture.create();
  await using source = await TempRepo.create();
  await source.commit("a.txt", "old\n");
  await source.commit("a.txt", "new\n");
  await fixture.takeFrom(source);
  await using front = await GitHttpFront.start(git, fixture);
  await using client = await TempRepo.create({ init: false });
  await client.git("clone", "-q", "--filter=blob:none", front.url, ".");
  expect(await client.git("show", "HEAD~1:a.txt")).toBe("old");
  expect(front.errors).toEqual([]);
});

test("SHA-256 repositories clone", async () => {
  await using fixture = await GitFixture.create({ objectFormat: "sha256" });
  await using front = await GitHttpFront.start(git, fixture);
  await using source = await TempRepo.create({ objectFormat: "sha256" });
  const tip = await source.commit("a.txt", "one\n");
  await fixture.takeFrom(source);
  await using client = await TempRepo.create({ init: false });
  await client.git("clone", "-q", front.url, ".");
  expect(await client.git("rev-parse", "HEAD")).toBe(tip);
});

test("names of refs that are not UTF-8 travel as bytes", async () => {
  await using fixture = await GitFixture.create();
  await using source = await TempRepo.create();
  const oid = await source.commit("a.txt", "one\n");
  fixture.setRefs([
    { name: "refs/heads/main", oid },
    { name: "refs/heads/caf\xe9", oid },
  ]);
  await using front = await GitHttpFront.start(git, fixture);
  expect(await source.git("ls-remote", front.url)).toBe(`${oid}\tHEAD\n${oid}\trefs/heads/caf\xe9\n${oid}\trefs/heads/main`);
});

// B113
test("hundreds of wants arrive compressed and are served", async () => {
  await using fixture = await GitFixture.create();
  await using source = await TempRepo.create();
  await source.commit("a.txt", "one\n");
  const tag = (i: number) => `tag t${i}\nfrom refs/heads/main\ntagger A <a@b.c> 1700000000 +0000\ndata 2\nx\n`;
  const marks = Array.from({ length: 402 }, (_, i) => tag(i)).join("");
  await writeFile(join(source.dir, "import"), marks);
  await source.git("-c", "alias.import=!git fast-import --quiet <import", "import");
  await fixture.takeFrom(source);
  await using front = await GitHttpFront.start(git, fixture);
  await using client = await TempRepo.create({ init: false });
  await client.git("clone", "-q", front.url, ".");
  expect((await client.git("tag")).split("\n")).toHaveLength(402);
});

test("a large pack arrives whole", async () => {
  await using fixture = await bigFixture(30_000_000);
  await using front = await GitHttpFront.start(git, fixture);
  await using client = await TempRepo.create({ init: false });
  await client.git("clone", "-q", front.url, ".");
  expect(await client.git("rev-parse", "HEAD")).toBe(fixture.tip);
  await client.git("fsck", "--strict");
});

// B19
test("fifty clones that stop after their first data leave no child", async () => {
  await using fixture = await bigFixture(4_000_000);
  const view = fixture.view();
  const request = () => bodyOf("command=fetch\n", "0001", `want ${fixture.tip}\n`, "done\n", flushPkt);
  for (let i = 0; i < 50; i++) {
    const stream = git.uploadPack(view, fixBody(request()), { gitProtocol: "version=2", signal: neverAborted });
    for await (const chunk of stream) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    // Gone within the call, not some time later.
    expect(processesMentioning(fixture.dir)).toEqual([]);
  }
  expect(await eventually(() => defunctGit().length === 0, 5000)).toBe(true);
});

/** The delimiter is no data packet. */
async function* fixBody(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) yield Buffer.from(chunk).toString("latin1") === "00080001" ? Buffer.from("0001") : chunk;
}

// B19
test("a client that is killed in the middle of a pack leaves no child", async () => {
  await using fixture = await bigFixture(30_000_000);
  await using front = await GitHttpFront.start(git, fixture);
  const left = new AbortController();
  const response = await fetch(`${front.url}/git-upload-pack`, {
    method: "POST",
    headers: { "git-protocol": "version=2" },
    body: Buffer.concat([
      encodePkt("command=fetch\n"),
      Buffer.from("0001"),
      encodePkt(`want ${fixture.tip}\n`),
      encodePkt("done\n"),
      flushPkt,
    ]),
    signal: left.signal,
  });
  await response.body?.getReader().read();
  left.abort();
  expect(await eventually(() => processesMentioning(fixture.dir).length === 0, 5000)).toBe(true);
  expect(await eventually(() => defunctGit().length === 0, 5000)).toBe(true);
});

// B19
test("leaving while nothing has come yet ends the call at once", async () => {
  await using fixture = await bigFixture(10);
  const never = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<IteratorResult<Uint8Array>>(() => {}) }) };
  async function* openEnded(): AsyncGenerator<Uint8Array> {
    yield encodePkt(`want ${fixture.tip} side-band-64k\n`);
    yield* never;
  }
  const iterator = git.uploadPack(fixture.view(), openEnded(), { gitProtocol: "", signal: neverAborted })[Symbol.asyncIterator]();
  const pending = iterator.next();
  pending.catch(() => {});
  expect(await eventually(() => processesMentioning(fixture.dir).length > 0, 5000)).toBe(true);
  await iterator.return?.();
  await expect(pending).rejects.toMatchObject({ code: "cancelled" });
  expect(processesMentioning(fixture.dir)).toEqual([]);
});

// B22
test.each([
  [0, "an aborted connection"],
  [2, "a message of the protocol"],
])("with protocol version %d a pack that breaks off becomes %s, never text among the packets", async (version) => {
  await using broken = await brokenGit(65_536);
  await using fixture = await bigFixture(4_000_000);
  await using front = await GitHttpFront.start(broken.git, fixture);
  await using client = await TempRepo.create({ init: false });
  const { code, stderr } = await client.tryGit("-c", `protocol.version=${version}`, "clone", "-q", front.url, ".");
  expect(code).not.toBe(0);
  expect(stderr).not.toContain("bad line length");
  expect(front.errors).toMatchObject([{ code: "git_failed", fields: { exitCode: 128, stderr: "fatal: made up" } }]);
});

// B22
test("a fetch that fails before its first byte is an error, with the child's words in its fields", async () => {
  await using broken = await brokenGit(0);
  await using fixture = await bigFixture(10);
  const request = bodyOf(`want ${fixture.tip} side-band-64k\n`, flushPkt, "done\n");
  await expect(collect(broken.git.uploadPack(fixture.view(), request, { gitProtocol: "", signal: neverAborted }))).rejects.toMatchObject({
    code: "git_failed",
    fields: { exitCode: 128, stderr: "fatal: made up" },
  });
});

test("an object that nobody advertised is refused in the protocol's own words", async () => {
  await using fixture = await bigFixture(10);
  const request = bodyOf(`want ${"1".repeat(40)} side-band-64k\n`, flushPkt, "done\n");
  const answer = await collect(git.uploadPack(fixture.view(), request, { gitProtocol: "", signal: neverAborted }));
  expect(answer.toString("latin1", 4, 40)).toMatch(/^ERR upload-pack: not our ref/);
});

/** A git whose upload-pack stops after some bytes of its answer. */
async function brokenGit(afterBytes: number): Promise<{ readonly git: Git } & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), "gitaly-test-broken-"));
  const binPath = join(dir, "git");
  const script = `#!/bin/sh
case "$1" in
  upload-pack) git "$@" | head -c ${afterBytes}; echo 'fatal: made up' >&2; exit 128 ;;
  *) exec git "$@" ;;
esac
`;
  await writeFile(binPath, script, { mode: 0o755 });
  const made = await startGit({ binPath });
  return {
    git: made,
    [Symbol.asyncDispose]: async () => {
      await made[Symbol.asyncDispose]();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

test("sizes of objects are told by version 2's object-info", async () => {
  await using fixture = await bigFixture(1234);
  const body = (async function* () {
    yield encodePkt("command=object-info\n");
    yield Buffer.from("0001");
    yield encodePkt("size\n");
    yield encodePkt(`oid ${fixture.tip}\n`);
    yield flushPkt;
  })();
  const answer = await collect(git.uploadPack(fixture.view(), body, { gitProtocol: "version=2", signal: neverAborted }));
  expect(answer.toString()).toMatch(new RegExp(`size\\n?.*${fixture.tip} [0-9]+`, "s"));
});

test("ls-refs with an argument that nobody knows is refused in the protocol's own words", async () => {
  await using fixture = await bigFixture(10);
  const body = (async function* () {
    yield encodePkt("command=ls-refs\n");
    yield Buffer.from("0001");
    yield encodePkt("frobnicate\n");
    yield flushPkt;
  })();
  const answer = await collect(git.uploadPack(fixture.view(), body, { gitProtocol: "version=2", signal: neverAborted }));
  expect(answer).toEqual(encodePkt("ERR unexpected line: 'frobnicate'"));
});
