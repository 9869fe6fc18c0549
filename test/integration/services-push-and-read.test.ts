import { execFileSync } from "node:child_process";
import { chmod, mkdtemp, open, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CodedError, systemClock } from "../../src/base/index.ts";
import { findCommit } from "../../src/services/commit/find-commit.ts";
import { findDefaultBranchName } from "../../src/services/ref/find-default-branch-name.ts";
import { listRefs } from "../../src/services/ref/list-refs.ts";
import { createRepository } from "../../src/services/repository/create-repository.ts";
import { removeRepository } from "../../src/services/repository/remove-repository.ts";
import { repositoryExists } from "../../src/services/repository/repository-exists.ts";
import { repositorySize } from "../../src/services/repository/repository-size.ts";
import { makeHistory } from "../support/history.ts";
import { collect, repositoryMessage, ServicesFixture } from "../support/services-fixture.ts";
import { type ServicesNode, startServicesNode } from "../support/services-node.ts";
import { git, runGit } from "../support/stock-git.ts";

let dir: string;
let work: string;
const call = () => new ServicesFixture().call();
const repository = repositoryMessage("group/app.git");

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "services-"));
  work = join(dir, "work");
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const create = ({ deps }: ServicesNode, objectFormat: "OBJECT_FORMAT_SHA1" | "OBJECT_FORMAT_SHA256" = "OBJECT_FORMAT_SHA1") =>
  createRepository(deps)({ repository, defaultBranch: Buffer.alloc(0), objectFormat }, call());
const remove = ({ deps }: ServicesNode) => removeRepository(deps)({ repository }, call());
const commitAt = async ({ deps }: ServicesNode, revision: string) =>
  (await findCommit(deps)({ repository, revision: Buffer.from(revision, "latin1"), trailers: true }, call())).commit;
const refsOf = async ({ deps }: ServicesNode, patterns = ["refs/"], sortBy?: "COMMITTERDATE" | "CREATORDATE" | "AUTHORDATE") => {
  const request = {
    repository,
    patterns: patterns.map((pattern) => Buffer.from(pattern, "latin1")),
    head: false,
    sortBy: sortBy ? { key: sortBy, direction: "DESCENDING" as const } : null,
    pointingAtOids: [],
    peelTags: true,
    paginationParams: null,
  };
  const messages = await collect(listRefs(deps)(request, call()));
  return messages.flatMap(({ references = [] }) => references).map(({ name, target }) => `${target} ${Buffer.from(name as Buffer)}`);
};
const clone = (node: ServicesNode, to: string, ...flags: string[]) =>
  git("clone", "-q", ...flags, `${node.url}/group/app.git`, join(dir, to));

async function commitFile(name: string, message: string): Promise<string> {
  await writeFile(join(work, name), `${name}\n`);
  await git("-C", work, "add", name);
  await git("-C", work, "commit", "-q", "-m", message);
  return (await git("-C", work, "rev-parse", "HEAD")).trim();
}

async function startWork(node: ServicesNode, ...flags: string[]): Promise<void> {
  await git("init", "-q", "-b", "main", ...flags, work);
  await git("-C", work, "remote", "add", "origin", `${node.url}/group/app.git`);
}

test.each(["sha1", "sha256"] as const)("what stock git pushes to a new %s repository is there for RPCs and for a clone", async (format) => {
  await using node = await startServicesNode(dir);
  await create(node, format === "sha1" ? "OBJECT_FORMAT_SHA1" : "OBJECT_FORMAT_SHA256");
  await startWork(node, `--object-format=${format}`);
  const oid = await commitFile("a", "Subject\n\nBody.\n\nReviewed-by: R <r@x>");
  await git("-C", work, "push", "-q", "origin", "main");
  const commit = await commitAt(node, "main");
  expect(commit).toMatchObject({ id: oid, subject: Buffer.from("Subject"), parentIds: [] });
  expect(commit?.trailers).toEqual([{ key: Buffer.from("Reviewed-by"), value: Buffer.from("R <r@x>") }]);
  expect(await refsOf(node)).toEqual([`${oid} refs/heads/main`]);
  expect((await findDefaultBranchName(node.deps)({ repository, headOnly: false }, call())).name).toEqual(Buffer.from("refs/heads/main"));
  expect(Number((await repositorySize(node.deps)({ repository }, call())).size)).toBeGreaterThan(0);
  await clone(node, "clone");
  await git("-C", join(dir, "clone"), "fsck", "--strict");
  expect((await git("-C", join(dir, "clone"), "rev-parse", "HEAD")).trim()).toBe(oid);
});

test("a whole history goes in and comes out over each protocol, and ref patterns and dates are those of git", async () => {
  await using node = await startServicesNode(dir);
  await create(node);
  makeHistory(work, 300);
  await git("-C", work, "push", "-q", `${node.url}/group/app.git`, "refs/*:refs/*");
  const expected = async (...args: string[]) =>
    (await git("-C", work, "for-each-ref", "--format=%(objectname) %(refname)", ...args)).trim().split("\n").filter(Boolean);
  for (const patterns of [
    ["refs/"],
    ["refs/heads"],
    ["refs/tags/*"],
    ["refs/**/v*"],
    ["refs/tags/light-[0-9]*", "refs/heads/s*"],
    ["refs/t"],
  ]) {
    expect(await refsOf(node, patterns)).toEqual(await expected(...patterns));
  }
  for (const key of ["CREATORDATE", "COMMITTERDATE", "AUTHORDATE"] as const) {
    expect(await refsOf(node, ["refs/"], key)).toEqual(await expected(`--sort=-${key.toLowerCase()}`));
  }
  for (const version of ["0", "1", "2"]) {
    await git("-c", `protocol.version=${version}`, "clone", "-q", "--mirror", `${node.url}/group/app.git`, join(dir, `mirror-${version}`));
    await git("-C", join(dir, `mirror-${version}`), "fsck", "--strict");
    expect((await git("-C", join(dir, `mirror-${version}`), "rev-list", "--all", "--count")).trim()).toBe("300");
  }
  await clone(node, "shallow", "--depth=1");
  await clone(node, "partial", "--filter=blob:none");
});

// B18
test("a repository that was deleted and made again under its name is empty, also where the old one was cached", async () => {
  await using node = await startServicesNode(dir, "n1");
  await using other = await startServicesNode(dir, "n2");
  await create(other);
  await startWork(node);
  const oid = await commitFile("secret", "secret");
  await git("-C", work, "push", "-q", "origin", "main");
  expect((await commitAt(node, oid))?.id).toBe(oid);
  await clone(node, "before");
  await remove(other);
  await expect(commitAt(node, oid)).rejects.toMatchObject({ code: "repository_not_found" });
  expect(await repositoryExists(node.deps)({ repository }, call())).toEqual({ exists: false });
  await create(other);
  expect(await refsOf(node)).toEqual([]);
  expect(await commitAt(node, oid)).toBeUndefined();
  await git("init", "-q", join(dir, "thief"));
  const fetch = await runGit(["-C", join(dir, "thief"), "fetch", `${node.url}/group/app.git`, oid]);
  expect(fetch.code).not.toBe(0);
});

test("removing what is not there says so in the words that Gitaly's clients know", async () => {
  await using node = await startServicesNode(dir);
  await expect(remove(node)).rejects.toMatchObject({ code: "repository_not_found", message: "repository not found" });
});

// B93
test("a push whose answer was lost succeeds when it is sent again, and makes one generation", async () => {
  await using node = await startServicesNode(dir);
  await create(node);
  await startWork(node);
  await commitFile("a", "first");
  const oid = (await git("-C", work, "rev-parse", "HEAD")).trim();
  const pack = await git("-C", work, "pack-objects", "--all", "-q", join(dir, "lost")).then((name) => `lost-${name.trim()}.pack`);
  const command = `${"0".repeat(40)} ${oid} refs/heads/main\0report-status`;
  const body = async function* () {
    yield Buffer.from(`${(command.length + 4).toString(16).padStart(4, "0")}${command}0000`, "latin1");
    const handle = await open(join(dir, pack));
    yield* handle.createReadStream();
  };
  const push = async () => {
    const request = { path: "group/app.git", gitProtocol: "", signal: new AbortController().signal };
    return Buffer.concat(await collect(await node.smartHttp.receivePack(request, body()))).toString();
  };
  const report = "000eunpack ok\n0017ok refs/heads/main\n0000";
  expect([await push(), await push()].map((text) => text.replace(/^0019/, ""))).toEqual([report, report]);
  expect((await node.storage.newest("group/app.git", call().signal))?.n).toBe(2);
});

// B07
test("a second node sees a push at once, whichever node took it", async () => {
  await using first = await startServicesNode(dir, "n1");
  await using second = await startServicesNode(dir, "n2");
  await create(first);
  expect(await refsOf(second)).toEqual([]);
  await startWork(first);
  for (const name of ["a", "b", "c"]) {
    const oid = await commitFile(name, name);
    await git("-C", work, "push", "-q", "origin", "main");
    expect((await commitAt(second, oid))?.id).toBe(oid);
    expect(await refsOf(second)).toEqual([`${oid} refs/heads/main`]);
  }
});

// B05
test("after a push that the store refused, a stale client is refused and the other node's push stays", async () => {
  let broken = false;
  await using first = await startServicesNode(dir, "n1", {
    storage: (storage) =>
      new Proxy(storage, {
        get: (target, key) => {
          if (key === "publish" && broken)
            return () => Promise.reject(new CodedError("store_unavailable", "the object store does not answer"));
          const value: unknown = Reflect.get(target, key);
          return typeof value === "function" ? value.bind(target) : value;
        },
      }),
  });
  await using second = await startServicesNode(dir, "n2");
  await create(first);
  await startWork(first);
  await commitFile("base", "base");
  await git("-C", work, "push", "-q", "origin", "main");
  await clone(second, "other");
  await commitFile("c1", "c1");
  broken = true;
  const failed = await runGit(["-C", work, "push", "origin", "main"]);
  expect(failed.code).not.toBe(0);
  expect(failed.stderr).toContain("the object store does not answer");
  broken = false;
  await git("-C", join(dir, "other"), "commit", "-q", "--allow-empty", "-m", "c2");
  await git("-C", join(dir, "other"), "push", "-q", "origin", "main");
  await commitFile("c3", "c3");
  const stale = await runGit(["-C", work, "push", "origin", "main"]);
  expect(stale.code).not.toBe(0);
  expect((await commitAt(first, "main"))?.subject).toEqual(Buffer.from("c2"));
});

// B95, B97
test("a branch can be deleted, the current one cannot, and the repository stays whole", async () => {
  await using node = await startServicesNode(dir);
  await create(node);
  await startWork(node);
  const oid = await commitFile("a", "a");
  await git("-C", work, "push", "-q", "origin", "main", "main:topic");
  await git("-C", work, "push", "-q", "origin", ":topic");
  expect(await refsOf(node)).toEqual([`${oid} refs/heads/main`]);
  const current = await runGit(["-C", work, "push", "origin", ":main"]);
  expect(current.code).not.toBe(0);
  await clone(node, "clone");
});

// B101
test("a branch where another one's directory is needs a push that deletes that one; then also a cold node serves it", async () => {
  await using node = await startServicesNode(dir, "n1");
  await create(node);
  await startWork(node);
  await commitFile("a", "a");
  await git("-C", work, "push", "-q", "origin", "main", "main:a");
  const oid = await commitFile("b", "b");
  const refused = await runGit(["-C", work, "push", "origin", "main:refs/heads/a/b"]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("directory/file conflict with refs/heads/a");
  await git("-C", work, "push", "-q", "origin", ":a", "main:refs/heads/a/b");
  await using cold = await startServicesNode(dir, "n2");
  expect((await refsOf(cold)).filter((line) => line.includes("/a"))).toEqual([`${oid} refs/heads/a/b`]);
  expect((await commitAt(cold, "refs/heads/a/b"))?.id).toBe(oid);
  await clone(cold, "cold");
  await git("-C", join(dir, "cold"), "fsck", "--strict");
  expect((await git("-C", join(dir, "cold"), "rev-parse", "origin/a/b")).trim()).toBe(oid);
});

// B09
describe.each([".pack", ".idx"])("a cached %s", (extension) => {
  test.each(["lost a byte", "has a wrong byte"])("that %s is replaced before a clone or a reader of a commit notices", async (damage) => {
    let laterMs = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + laterMs };
    await using node = await startServicesNode(dir, "n1", { clock });
    await create(node);
    await startWork(node);
    const oid = await commitFile("a", "a");
    await git("-C", work, "push", "-q", "origin", "main");
    await clone(node, "before");
    const uses = [() => clone(node, "after"), () => commitAt(node, "main"), () => refsOf(node, ["refs/"], "CREATORDATE")];
    for (const use of uses) {
      // A file that was compared a moment ago is trusted.
      laterMs += 3_600_000;
      await damageFiles(node.cacheDir, extension, damage);
      await use();
    }
    await git("-C", join(dir, "after"), "fsck", "--strict");
    expect((await commitAt(node, "main"))?.id).toBe(oid);
  });
});

describe.each([".pack", ".idx"])("a push onto a damaged %s", (extension) => {
  test("is taken at once where it brings whole objects", async () => {
    let laterMs = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + laterMs };
    await using node = await startServicesNode(dir, "n1", { clock });
    await create(node);
    await startWork(node);
    await commitFile("a", "a");
    await git("-C", work, "push", "-q", "origin", "main");
    await clone(node, "before");
    laterMs = 3_600_000;
    await damageFiles(node.cacheDir, extension, "is full of zeros");
    await git("-C", work, "commit", "-q", "--allow-empty", "-m", "b");
    await git("-C", work, "push", "-q", "origin", "main");
    await clone(node, "after");
    await git("-C", join(dir, "after"), "fsck", "--strict");
  });

  test("is taken the second time where it brings differences to objects that cannot be read", async () => {
    let laterMs = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + laterMs };
    await using node = await startServicesNode(dir, "n1", { clock });
    await create(node);
    await startWork(node);
    const lines = Array.from({ length: 2000 }, (_, i) => `${i * 7919}`);
    await writeFile(join(work, "long"), lines.join("\n"));
    await commitFile("long", "a");
    await writeFile(join(work, "long"), lines.join("\n"));
    await git("-C", work, "commit", "-q", "-a", "-m", "long");
    await git("-C", work, "push", "-q", "origin", "main");
    await clone(node, "before");
    laterMs = 3_600_000;
    await damageFiles(node.cacheDir, extension, "is full of zeros");
    await writeFile(join(work, "long"), [...lines, "more"].join("\n"));
    await git("-C", work, "commit", "-q", "-a", "-m", "longer");
    const { code, stderr } = await runGit(["-C", work, "push", "origin", "main"]);
    expect(code).not.toBe(0);
    expect(stderr).toContain("a damaged copy of the repository was thrown away; push again");
    await git("-C", work, "push", "-q", "origin", "main");
    await clone(node, "after");
    await git("-C", join(dir, "after"), "fsck", "--strict");
  });
});

/** Spoils the cache's files of a kind and leaves their times as they were: so does a disk that forgets. */
async function damageFiles(cacheDir: string, extension: string, damage: string): Promise<void> {
  const names = (await readdir(join(cacheDir, "artifacts"), { recursive: true })).filter((name) => name.endsWith(extension));
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) {
    const file = join(cacheDir, "artifacts", name);
    const { size } = await stat(file);
    execFileSync("touch", ["-r", file, join(dir, "times")]);
    // git's packs are read-only, and only root writes to them all the same.
    await chmod(file, 0o600);
    await using handle = await open(file, "r+");
    if (damage === "lost a byte") await handle.truncate(size - 1);
    else if (damage === "is full of zeros") await handle.write(Buffer.alloc(size), 0, size, 0);
    else {
      const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size >> 1);
      await handle.write(Buffer.from([(buffer[0] ?? 0) ^ 0xff]), 0, 1, size >> 1);
    }
    execFileSync("touch", ["-r", join(dir, "times"), file]);
  }
}

test("the catalog hears of each push", async () => {
  await using node = await startServicesNode(dir);
  await create(node);
  await startWork(node);
  await commitFile("a", "a");
  await git("-C", work, "push", "-q", "origin", "main", "main:b");
  await expect.poll(() => node.recorded.at(-1)).toMatchObject({ path: "group/app.git", generation: 2, refCount: 2, packCount: 1 });
});
