import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, expect, test, vi } from "vitest";
import { neverAborted, systemClock, systemRandom } from "../../src/base/index.ts";
import { GitalyClient } from "../../src/client/index.ts";
import { silentLogger } from "../../src/observability/index.ts";
import { createServer as createNode } from "../../src/server/index.ts";
import { openFilesystemStore } from "../../src/storage/filesystem.ts";
import { failureOf } from "../support/failure-of.ts";
import { type S3Fault, startS3Front } from "../support/s3-front.ts";
import { ServerFixture, type ServerNode, until } from "../support/server-fixture.ts";

let nodes: ServerFixture;
beforeEach(async () => {
  nodes = await ServerFixture.open();
  return async () => {
    vi.unstubAllEnvs();
    await nodes[Symbol.asyncDispose]();
  };
});

const ready = async (node: Promise<ServerNode>) => {
  const started = await node;
  await started.server.whenReady(neverAborted);
  return started;
};
const via = (node: ServerNode) => ({ "join-addr": [`http://${node.server.info.grpc}`] });
const clusterFile = (name: string) => join(nodes.root, name, "cluster.json");

test("what a joiner was told is kept, so that it comes back without any member", async () => {
  const founder = await ready(nodes.start("n1"));
  const joiner = await ready(nodes.start("n2", via(founder)));
  const facts = JSON.parse(readFileSync(clusterFile("n2"), "utf8")) as Record<string, unknown>;
  expect(facts).toMatchObject({
    clusterId: founder.server.info.clusterId,
    objectStorageUrl: pathToFileURL(join(founder.dataDir, "objects")).href,
    objectStorageEmbedded: true,
  });
  expect(facts).not.toHaveProperty("gossipAddresses");
  expect(existsSync(clusterFile("n1"))).toBe(false);
  await Promise.all([founder.server.drain(), joiner.server.drain()]);
  const back = await ready(nodes.start("n2", via(founder)));
  expect(back.server.info).toMatchObject({ node: joiner.server.info.node, clusterId: founder.server.info.clusterId });
});

test("nodes that all stop and come back without a join address find each other: members of an earlier start are kept", async () => {
  const founder = await ready(nodes.start("n1"));
  const joiner = await ready(nodes.start("n2", via(founder)));
  const kept = (name: string) => join(nodes.root, name, "peers.json");
  await until(() => existsSync(kept("n1")) && existsSync(kept("n2")));
  await Promise.all([founder.server.destroy(), joiner.server.destroy()]);
  // At the addresses of before, as nodes with default or configured ports have it.
  const { gossip } = founder.server.info;
  const first = await ready(nodes.start("n1", { "gossip-addr": gossip }));
  await ready(nodes.start("n2"));
  await using client = new GitalyClient({ addresses: `http://${first.server.info.grpc}` });
  await until(async () => (await client.cluster.listMembers({})).members.filter(({ status }) => status === "ready").length === 2);
});

test("nodes that look for a port at the same moment get one each, and are named after it", async () => {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  const grpc = { host: "127.0.0.1", port, explicit: false };
  const start = (name: string) => createNode({ ...nodes.config(name), grpc }, { logger: silentLogger });
  const first = start("a");
  // The second one looks while the first has chosen its port and does not listen there yet: it is starting its git.
  await until(() => existsSync(join(nodes.root, "a", "git")));
  const servers = await Promise.all([first, start("b"), start("c")]);
  try {
    const infos = servers.map(({ info }) => info);
    expect(new Set(infos.map(({ node }) => node)).size).toBe(3);
    for (const { node, grpc: address } of infos) expect(node.split(":").at(-1)).toBe(address.split(":").at(-1));
  } finally {
    await Promise.all(servers.map((server) => server.destroy()));
  }
});

test("kept members that are gone, or a damaged list of them, do not hold up a start", async () => {
  const founder = await ready(nodes.start("n1"));
  await founder.server.drain();
  const { clusterId } = founder.server.info;
  for (const gossip of [["127.0.0.1:1", "no address"], "damaged"]) {
    writeFileSync(join(founder.dataDir, "peers.json"), JSON.stringify({ clusterId, gossip }));
    const back = await ready(nodes.start("n1"));
    await back.server.drain();
  }
});

test("a joiner that cannot prove that it sees the embedded store's very directory ends, naming the keys", async () => {
  const founder = await ready(nodes.start("n1"));
  writeFileSync(join(founder.dataDir, "objects", "cluster-id"), "another\n");
  const joiner = await nodes.start("n2", via(founder));
  expect(await failureOf(joiner.server.whenReady(neverAborted))).toMatchObject({
    code: "failed_precondition",
    fields: { keys: "object_storage.url, database.url" },
  });
  expect(existsSync(join(joiner.dataDir, "objects"))).toBe(false);
});

test("a list that names only the node itself makes it a first node, unless it belongs to a cluster already", async () => {
  const first = await ready(nodes.start("n1"));
  const address = first.server.info.grpc;
  await first.server.drain();
  const again = await ready(nodes.start("n1", { "join-addr": [`http://${address}`], "listen-addr": address }));
  expect(again.server.info.clusterId).toBe(first.server.info.clusterId);
  const alone = await ready(nodes.start("solo", { "join-addr": [`http://${address}`], "listen-addr": "127.0.0.1:0" }));
  await again.server.drain();
  await alone.server.drain();
  // `alone` was told of the other one's store; its own address alone does not make it a founder.
  const own = alone.server.info.grpc;
  const back = await ready(nodes.start("solo", { "join-addr": [`http://${own}`], "listen-addr": own }));
  expect(back.server.info.clusterId).toBe(first.server.info.clusterId);
});

test("joiners without a store that find only each other stay so and say what is missing", async () => {
  const a = await nodes.start("a", { "join-addr": ["http://127.0.0.1:1"] });
  const b = await nodes.start("b", via(a));
  await until(() => b.server.waitingFor().includes("no member answers"));
  expect(b.log.join("\n")).toContain("one node must be started without --join-addr or with object_storage.url");
  expect([existsSync(join(a.dataDir, "objects")), existsSync(join(b.dataDir, "objects"))]).toEqual([false, false]);
});

test("a name that a live node has ends the start of the second one; a killed node's name can be used at once", async () => {
  const founder = await ready(nodes.start("n1"));
  const twin = await ready(nodes.start("n2", { ...via(founder), "node-name": "twin" }));
  const late = await nodes.start("n3", { ...via(founder), "node-name": "twin" });
  expect(await failureOf(late.server.whenReady(neverAborted))).toMatchObject({
    code: "failed_precondition",
    message: "another live node uses this name",
  });
  await failureOf(late.server.closed);
  await twin.server.destroy();
  const heir = await ready(nodes.start("n4", { ...via(founder), "node-name": "twin" }));
  expect(heir.server.info.node).toBe("twin");
});

test("once it serves, a node whose join address turns out to lead to another cluster refuses that, counts it and serves on", async () => {
  const target = await nodes.start("stranger");
  const { grpc } = target.server.info;
  await target.server.drain();
  const node = await ready(
    nodes.start("n1", { "join-addr": [`http://${grpc}`], "object-storage": pathToFileURL(join(nodes.root, "store")).href }),
  );
  const stranger = await ready(nodes.start("stranger", { "listen-addr": grpc }));
  await until(async () => /gitaly_cluster_join_refused_total [1-9]/.test(await node.metrics()));
  expect(node.log.join("\n")).toContain(stranger.server.info.clusterId);
  expect(node.server.waitingFor()).toBe("");
  expect(await node.metrics()).toContain('gitaly_cluster_members{status="ready"} 1');
});

async function s3(fault: () => S3Fault | undefined) {
  const store = await openFilesystemStore({ directory: join(nodes.root, "bucket") }, { clock: systemClock, random: systemRandom });
  const front = await startS3Front({ store, fault: (method) => (method === "GET" || method === "PUT" ? fault() : undefined) });
  return {
    url: front.url,
    [Symbol.asyncDispose]: async () => {
      await front[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

test("no password and no key of a store or a database leaves the node: not to a joiner, a log, a file or a status", async () => {
  await using store = await s3(() => undefined);
  const secret = new URL(store.url).password;
  expect(secret).not.toBe("");
  const env = {
    GITALY_OBJECT_STORAGE_URL: store.url,
    GITALY_DATABASE_URL: "postgres://u:db-secret@127.0.0.1:1/none?password=db-secret&user=u",
  };
  const founder = await ready(nodes.start("n1", {}, { env }));
  await using client = new GitalyClient({ addresses: `grpc://${founder.server.info.grpc}` });
  const answer = await client.cluster.bootstrap({ node: "x" }, { signal: neverAborted });
  const status = await client.cluster.status({}, { signal: neverAborted });
  expect(answer.databaseUrls).toEqual(["postgres://127.0.0.1:1/none"]);
  expect(new URL(answer.objectStorageUrl)).toMatchObject({ username: "", password: "" });
  expect(status.checks.find(({ name }) => name === "database")?.message).toContain("database.url");
  const seen = [JSON.stringify([answer, status, founder.server.info]), ...founder.log, await founder.metrics()].join("\n");
  expect(seen).not.toContain("db-secret");
  expect(seen).not.toContain(secret);
});

test.each([
  ["without credentials", {}],
  ["with credentials that the store refuses", { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" }],
])("a joiner %s ends, naming object_storage.url", async (_how, credentials: Record<string, string>) => {
  // The SDK looks for credentials in the process's environment and, unless told otherwise, on the network.
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
  for (const [name, value] of Object.entries(credentials)) vi.stubEnv(name, value);
  let fault: S3Fault | undefined;
  await using store = await s3(() => fault);
  const founder = await ready(nodes.start("n1", {}, { env: { GITALY_OBJECT_STORAGE_URL: store.url } }));
  fault = "error403";
  const joiner = await nodes.start("n2", via(founder));
  expect(await failureOf(joiner.server.whenReady(neverAborted))).toMatchObject({
    code: "failed_precondition",
    fields: { keys: "object_storage.url" },
  });
});

test("a store that cannot be reached keeps the node warming, and it goes on as soon as the store is there", async () => {
  let fault: S3Fault | undefined = "error503";
  await using store = await s3(() => fault);
  const node = await nodes.start("n1", {}, { env: { GITALY_OBJECT_STORAGE_URL: store.url } });
  await until(() => node.server.waitingFor().startsWith("the object store:"));
  fault = undefined;
  await node.server.whenReady(neverAborted);
});

test("a store without create-only writes is read but not written to, and the refusal carries the store's answer", async () => {
  let fault: S3Fault | undefined;
  await using store = await s3(() => fault);
  const env = { GITALY_OBJECT_STORAGE_URL: store.url };
  const first = await ready(nodes.start("n1", {}, { env }));
  await using client = new GitalyClient({ addresses: `grpc://${first.server.info.grpc}` });
  const repository = { storageName: "default", relativePath: "a.git" };
  await client.repository.createRepository({ repository }, { signal: neverAborted });
  await first.server.drain();

  fault = "ignoreCondition";
  const second = await ready(nodes.start("n1", {}, { env }));
  await using again = new GitalyClient({ addresses: `grpc://${second.server.info.grpc}` });
  expect(await again.repository.repositoryExists({ repository }, { signal: neverAborted })).toMatchObject({ exists: true });
  const refused = await failureOf(
    again.repository.createRepository({ repository: { ...repository, relativePath: "b.git" } }, { signal: neverAborted }),
  );
  expect(refused.message).toMatch(/create-only/);
});

test("a node with a store of its own serves although its join address swallows every packet, and says so", async () => {
  const silent = createServer((socket) => void socket.on("error", () => {})).listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const { port } = silent.address() as { port: number };
  try {
    const startedMs = performance.now();
    const url = pathToFileURL(join(nodes.root, "store")).href;
    const node = await ready(nodes.start("n1", { "join-addr": [`http://127.0.0.1:${port}`], "object-storage": url }));
    expect(performance.now() - startedMs).toBeLessThan(4000);
    expect(node.log.join("\n")).toContain("a join address does not answer");
    await node.server.destroy();
  } finally {
    silent.close();
  }
});
