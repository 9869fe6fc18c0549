import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { credentials, loadPackageDefinition, type ServiceError } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterAll, beforeAll, expect, test } from "vitest";
import { GitalyClient } from "../../src/client/index.ts";
import { protoDir } from "../../src/proto/index.ts";
import { type GitalyProcess, gitaly, removeDataDirs, startGitaly } from "../support/gitaly-process.ts";
import { makeHistory } from "../support/history.ts";
import { git, runGit } from "../support/stock-git.ts";

// Three real nodes on one machine, driven as their users drive them. The tests build on each other, in this order.
const root = mkdtempSync(join(tmpdir(), "cluster-"));
const source = join(root, "source");
const nodes: GitalyProcess[] = [];
const facts: { node: string; grpc: string; http: string }[] = [];
const path = "demo/app.git";

interface RouteJson {
  owners: { name: string; grpc: string; http: string }[];
  fingerprint: string;
  views: Record<string, string | null>;
}

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await gitaly([...args, "--json"]);
  if (code !== 0) throw new Error(`gitaly ${args.join(" ")} failed with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

const at = (i: number) => ["--addr", `http://${facts[i]?.grpc}`];
const route = (i: number) => json<RouteJson>("route", path, ...at(i));
const url = (i: number) => `http://${facts[i]?.http}/${path}`;
const refsOf = async (remote: string) => (await git("ls-remote", remote)).split("\n").sort();

async function ownerIndex(): Promise<number> {
  const { owners } = await route(0);
  return facts.findIndex(({ node }) => node === owners[0]?.name);
}

/** Waits until all nodes list each other as ready; membership spreads in the background. */
async function allReady(count: number): Promise<void> {
  for (;;) {
    const views = await Promise.all(facts.slice(0, count).map((_, i) => json<{ status: string }[]>("members", ...at(i))));
    if (views.every((members) => members.filter(({ status }) => status === "ready").length === count)) return;
  }
}

beforeAll(async () => {
  makeHistory(source, 1000);
  // A joiner first: it waits for the founder, whose address it was given.
  const founder = startGitaly(join(root, "n1"));
  nodes.push(founder);
  const first = await founder.ready();
  nodes.push(startGitaly(join(root, "n2"), ["--join-addr", `http://${first.grpc}`]));
  nodes.push(startGitaly(join(root, "n3"), ["--join-addr", `http://${first.grpc}`]));
  for (const node of nodes) facts.push(await node.ready());
  await allReady(3);
});

afterAll(async () => {
  for (const node of nodes) await node[Symbol.asyncDispose]();
  await removeDataDirs(root);
});

test("three nodes see each other as ready and name the same owner", async () => {
  const routes = await Promise.all([route(0), route(1), route(2)]);
  expect(new Set(routes.map(({ owners }) => owners[0]?.name)).size).toBe(1);
  expect(new Set(routes.flatMap(({ fingerprint, views }) => [fingerprint, ...Object.values(views)])).size).toBe(1);
});

test("a push to a repository that was not created is refused with the command that creates it", async () => {
  const result = await runGit(["-C", source, "push", url(0), "main"]);
  expect(result.code).not.toBe(0);
  expect(result.stderr).toContain("gitaly repo create demo/app.git");
});

test("a real history pushed to a node that is not the owner is the same from every node", async () => {
  expect((await gitaly(["repo", "create", path, ...at(0)])).code).toBe(0);
  const owner = await ownerIndex();
  await git("-C", source, "push", "--quiet", url((owner + 1) % 3), "--all");
  await git("-C", source, "push", "--quiet", url((owner + 2) % 3), "--tags");
  const expected = (await git("-C", source, "for-each-ref", "--format=%(objectname) %(refname)")).trim().split("\n").sort();
  for (const i of [0, 1, 2]) {
    const clone = join(root, `clone-${i}`);
    await git("clone", "--quiet", "--mirror", url(i), clone);
    expect((await git("-C", clone, "for-each-ref", "--format=%(objectname) %(refname)")).trim().split("\n").sort()).toEqual(expected);
    expect((await runGit(["-C", clone, "fsck", "--full", "--strict"])).code).toBe(0);
  }
});

test("stock git is sent to the owner by a 307, and the owner does the work", async () => {
  const owner = await ownerIndex();
  const other = (owner + 1) % 3;
  const response = await new Promise<http.IncomingMessage>((resolve, reject) =>
    http.get(`${url(other)}/info/refs?service=git-upload-pack`, resolve).on("error", reject),
  );
  response.resume();
  expect(response.statusCode).toBe(307);
  expect(response.headers.location).toContain(facts[owner]?.http);
  const trace = await runGit(["clone", "--quiet", url(other), join(root, "traced")], { env: { GIT_TRACE_CURL: "1" } });
  const workers = [...trace.stderr.matchAll(/Recv header: Gitaly-Node: (\S+)/gi)].map(([, name]) => name);
  expect(workers.at(-1)).toBe(facts[owner]?.node);
});

test("our client is redirected once, remembers, and goes straight the second time", async () => {
  const owner = await ownerIndex();
  await using client = new GitalyClient({ addresses: [`http://${facts[(owner + 1) % 3]?.grpc}`] });
  const find = async () => {
    const seen: string[] = [];
    const { commit } = await client.commit.findCommit(
      { repository: { storageName: "default", relativePath: path }, revision: Buffer.from("main") },
      { onAttempt: ({ node }) => void seen.push(node) },
    );
    return { seen, id: commit?.id };
  };
  const expected = (await git("-C", source, "rev-parse", "main")).trim();
  const redirected = await find();
  expect(redirected).toEqual({ id: expected, seen: [facts[(owner + 1) % 3]?.node, facts[owner]?.node] });
  expect(await find()).toEqual({ id: expected, seen: [facts[owner]?.node] });
});

test("a foreign client that knows nothing of redirects gets the right answer from every node", async () => {
  const definition = loadSync("commit.proto", { includeDirs: [protoDir] });
  // biome-ignore lint/suspicious/noExplicitAny: what a foreign client without generated types works with
  const { gitaly: foreign } = loadPackageDefinition(definition) as any;
  const expected = (await git("-C", source, "rev-parse", "main")).trim();
  for (const { grpc } of facts) {
    const client = new foreign.CommitService(grpc, credentials.createInsecure());
    const id = await new Promise((resolve, reject) =>
      client.findCommit(
        { repository: { storageName: "default", relativePath: path }, revision: Buffer.from("main") },
        (error: ServiceError | null, response: { commit: { id: string } }) => (error ? reject(error) : resolve(response.commit.id)),
      ),
    );
    client.close();
    expect(id).toBe(expected);
  }
});

test("after kill -9 of the owner everything acknowledged is there, and the others own the repository", async () => {
  const owner = await ownerIndex();
  const survivors = [0, 1, 2].filter((i) => i !== owner);
  await git("-C", source, "push", "--quiet", url(owner), "main:refs/heads/before-the-crash");
  const before = await refsOf(url(owner));
  nodes[owner]?.child.kill("SIGKILL");
  await nodes[owner]?.stop("SIGKILL");
  for (;;) {
    const routes = await Promise.all(survivors.map((i) => route(i)));
    const names = new Set(routes.map(({ owners }) => owners[0]?.name));
    if (names.size === 1 && !names.has(facts[owner]?.node)) break;
    // While the ring still names the dead owner a clone may fail, but only with a clear error.
    const attempt = await runGit(["ls-remote", url(survivors[0] as number)]);
    if (attempt.code !== 0) expect(attempt.stderr).toMatch(/unable to access|could not|refused|503/i);
    else expect(attempt.stdout.split("\n").sort()).toEqual(before);
  }
  for (const i of survivors) expect(await refsOf(url(i))).toEqual(before);
  await git("-C", source, "push", "--quiet", url(survivors[0] as number), "main:refs/heads/after-the-crash");
  expect(await refsOf(url(survivors[1] as number))).toContainEqual(expect.stringContaining("refs/heads/after-the-crash"));
});

test("with all nodes stopped and every cache deleted, the object store alone brings everything back", async () => {
  const alive = nodes.find((node) => node.child.exitCode === null && node.child.signalCode === null);
  const before = await refsOf(url(nodes.indexOf(alive as GitalyProcess)));
  for (const node of nodes) await node.stop("SIGTERM");
  for (const node of nodes) {
    rmSync(join(node.dataDir, "cache"), { recursive: true, force: true });
    expect(readdirSync(node.dataDir)).not.toContain("cache");
  }
  nodes.splice(0, 3, startGitaly(join(root, "n1")));
  facts.splice(0, 3, await (nodes[0] as GitalyProcess).ready());
  for (const name of ["n2", "n3"]) nodes.push(startGitaly(join(root, name), ["--join-addr", `http://${facts[0]?.grpc}`]));
  for (const node of nodes.slice(1)) facts.push(await node.ready());
  await allReady(3);
  for (const i of [0, 1, 2]) expect(await refsOf(url(i))).toEqual(before);
  const clone = join(root, "clone-after");
  await git("clone", "--quiet", "--mirror", url(1), clone);
  expect((await runGit(["-C", clone, "fsck", "--full", "--strict"])).code).toBe(0);
});
