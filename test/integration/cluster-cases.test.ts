import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import { GitalyClient } from "../../src/client/index.ts";
import { encodePkt, flushPkt } from "../../src/git/pkt-line.ts";
import { readAll } from "../support/read-all.ts";
import { ServerFixture, type ServerNode, until } from "../support/server-fixture.ts";
import { git } from "../support/stock-git.ts";

const names = vi.hoisted(() => new Map<string, string>());
vi.mock(import("node:dns/promises"), async (original) => {
  const real = await original();
  const lookup = (host: string, options: { all?: boolean } = {}) => {
    if (!host.endsWith(".test")) return real.lookup(host, options);
    const address = names.get(host);
    if (address === undefined) return Promise.reject(Object.assign(new Error(`ENOTFOUND ${host}`), { code: "ENOTFOUND" }));
    return Promise.resolve(options.all ? [{ address, family: 4 }] : { address, family: 4 });
  };
  return { ...real, lookup: lookup as typeof real.lookup };
});

let nodes: ServerFixture;
beforeEach(async () => {
  nodes = await ServerFixture.open();
});
afterEach(async () => {
  names.clear();
  await nodes[Symbol.asyncDispose]();
});

const repositoryAt = (relativePath: string) => ({ storageName: "default", relativePath });
const clientOf = (node: ServerNode) => new GitalyClient({ addresses: `grpc://${node.server.info.grpc}` });
const urlOf = (node: ServerNode, path: string) => `http://${node.server.info.http}/${path}`;
const zero = "0".repeat(40);

/** Starts a node that is called `name`, and waits until it serves. */
async function start(name: string, flags: Record<string, string | readonly string[]> = {}, env: Record<string, string> = {}) {
  const node = await nodes.start(name, { "node-name": name, ...flags }, { env });
  await node.server.whenReady(neverAborted);
  return node;
}

async function startThree(env: Record<string, string> = {}): Promise<[ServerNode, ServerNode, ServerNode]> {
  const n1 = await start("n1", {}, env);
  const via = { "join-addr": `http://${n1.server.info.grpc}` };
  const three: [ServerNode, ServerNode, ServerNode] = [n1, await start("n2", via, env), await start("n3", via, env)];
  await settled(three);
  return three;
}

/** Each of the nodes sees all of them as ready. */
async function settled(all: readonly ServerNode[]): Promise<void> {
  for (const node of all) {
    await using client = clientOf(node);
    await until(async () => (await readyMembers(client)).length === all.length);
  }
}

async function readyMembers(client: GitalyClient): Promise<string[]> {
  const { members } = await client.cluster.listMembers({});
  return members.filter(({ status }) => status === "ready").map(({ name }) => name);
}

async function ownersOf(client: GitalyClient, path: string): Promise<string[]> {
  return (await client.cluster.route({ repository: repositoryAt(path) })).owners.map(({ name }) => name);
}

/** A path whose owners are exactly these, in order. */
async function pathOwnedBy(client: GitalyClient, ...owners: string[]): Promise<string> {
  for (let i = 0; ; i++) if ((await ownersOf(client, `owned/${i}.git`)).join() === owners.join()) return `owned/${i}.git`;
}

async function commit(work: string, message: string): Promise<string> {
  await git("init", "-q", "-b", "main", work);
  await git("-C", work, "commit", "-q", "--allow-empty", "-m", message);
  return (await git("-C", work, "rev-parse", "HEAD")).trim();
}

// B07
test("of two owners each serves at once what the other one has just taken", async () => {
  const three = await startThree({ GITALY_CLUSTER_REPLICAS: "2" });
  const [, n2, n3] = three;
  await using client = clientOf(n3);
  const path = await pathOwnedBy(client, "n2", "n3");
  const repository = repositoryAt(path);
  await client.repository.createRepository({ repository });
  const work = join(nodes.root, "work");
  const direct = ["-c", "http.followRedirects=false"];
  for (const message of ["one", "two", "three"]) {
    const oid = await commit(work, message);
    await git(...direct, "-C", work, "push", "-q", urlOf(n2, path), "main");
    const asked: string[] = [];
    const found = await client.commit.findCommit(
      { repository, revision: Buffer.from(oid) },
      { onAttempt: ({ node }) => void asked.push(node) },
    );
    expect([found.commit?.id, asked]).toEqual([oid, ["n3"]]);
    expect(await git(...direct, "ls-remote", urlOf(n3, path), "main")).toBe(`${oid}\trefs/heads/main\n`);
  }
});

// B79
test("where the first owner was killed and nobody knows yet, a client that knew no owner gets its answer from the second", async () => {
  const [n1, n2] = await startThree({ GITALY_CLUSTER_REPLICAS: "2", GITALY_CLUSTER_PROBE_INTERVAL: "60s" });
  await using before = clientOf(n1);
  const path = await pathOwnedBy(before, "n2", "n3");
  await before.repository.createRepository({ repository: repositoryAt(path) });
  await n2.server.destroy();
  await using client = clientOf(n1);
  const startedMs = performance.now();
  expect(await ownersOf(client, path)).toEqual(["n2", "n3"]);
  const asked: string[] = [];
  const answer = await client.repository.repositoryExists(
    { repository: repositoryAt(path) },
    { onAttempt: ({ node }) => void asked.push(node) },
  );
  expect(answer).toEqual({ exists: true });
  expect([asked[0], asked.at(-1)]).toEqual(["n1", "n3"]);
  expect(performance.now() - startedMs).toBeLessThan(5000);
});

// B23
test("while a fourth node joins and when it has, a hundred repositories are all read; about a quarter move, all to it", async () => {
  const three = await startThree();
  const [n1] = three;
  const work = join(nodes.root, "work");
  const oid = await commit(work, "one");
  const name = (await git("-C", work, "pack-objects", "-q", "--all", join(nodes.root, "one"))).trim();
  const pack = await readFile(join(nodes.root, `one-${name}.pack`));
  const paths = Array.from({ length: 100 }, (_, i) => `many/${i}.git`);
  await using client = clientOf(n1);
  const push = async (path: string) => {
    const repository = repositoryAt(path);
    await client.repository.createRepository({ repository });
    const body = async function* () {
      yield { repository, glId: "user-1" };
      yield { data: Buffer.concat([encodePkt(`${zero} ${oid} refs/heads/main\0report-status`), flushPkt, pack]) };
    };
    const report = await readAll(client.smartHttp.postReceivePack(body()));
    expect(String(Buffer.concat(report.map(({ data }) => data as Buffer)))).toContain("ok refs/heads/main");
  };
  for (let i = 0; i < 100; i += 5) await Promise.all(paths.slice(i, i + 5).map(push));
  const owners = async () => await Promise.all(paths.map(async (path) => (await ownersOf(client, path))[0]));
  const before = await owners();
  /** What a client that starts with this node reads of every repository; the pack is needed for it. */
  const readAllFrom = async (node: ServerNode) => {
    await using reader = clientOf(node);
    const ids: (string | undefined)[] = [];
    for (const path of paths)
      ids.push((await reader.commit.findCommit({ repository: repositoryAt(path), revision: Buffer.from("main") })).commit?.id);
    return ids;
  };
  const all = Array(100).fill(oid);

  let joined = false;
  const joining = start("n4", { "join-addr": `http://${n1.server.info.grpc}` }).then(async (node) => {
    await settled([...three, node]);
    joined = true;
    return node;
  });
  for (let round = 0; !joined || round < 3; round++) expect(await readAllFrom(three[round % 3] as ServerNode)).toEqual(all);
  const n4 = await joining;
  for (const node of [...three, n4]) expect(await readAllFrom(node)).toEqual(all);
  const after = await owners();
  const moved = after.filter((owner, i) => owner !== before[i]);
  expect(moved.length).toBeGreaterThan(10);
  expect(moved.length).toBeLessThan(40);
  expect(new Set(moved)).toEqual(new Set(["n4"]));
});

// B38
test("a chain of joiners whose first address is down becomes one cluster with the node that appears there", async () => {
  const free = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => free.once("listening", resolve));
  const { port } = free.address() as { port: number };
  await new Promise((resolve) => free.close(resolve));
  const b = await nodes.start("b", { "join-addr": `http://127.0.0.1:${port}` });
  const c = await nodes.start("c", { "join-addr": `http://${b.server.info.grpc}` });
  for (const { server } of [b, c]) await until(() => server.waitingFor().includes("no member answers"));
  const a = await start("a", { "listen-addr": `127.0.0.1:${port}` });
  for (const { server } of [b, c]) await server.whenReady(neverAborted);
  await settled([a, b, c]);
  expect([b.server.info.clusterId, c.server.info.clusterId]).toEqual(Array(2).fill(a.server.info.clusterId));
});

// B39
test("a join name that does not resolve yet: with a store a node serves alone, without one it waits; both join once it resolves", async () => {
  const store = { "object-storage": pathToFileURL(join(nodes.root, "store")).href };
  const founder = await start("founder", store);
  const later = { "join-addr": `http://later.test:${founder.server.info.grpc.split(":")[1]}` };
  const alone = await start("alone", { ...store, ...later });
  const waiting = await nodes.start("waiting", later);
  await until(() => waiting.server.waitingFor().includes("no member answers"));
  await using client = clientOf(alone);
  expect(await readyMembers(client)).toEqual(["alone"]);
  await client.repository.createRepository({ repository: repositoryAt("a.git") });
  for (const { log } of [alone, waiting]) expect(log.filter((line) => /"level":"warn".*later\.test/.test(line))).not.toEqual([]);
  names.set("later.test", "127.0.0.1");
  await waiting.server.whenReady(neverAborted);
  await settled([founder, alone, waiting]);
});
