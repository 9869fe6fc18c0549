import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { connect, createServer as createTcpServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import { createMetrics, type MetricsRegistry } from "../../src/observability/index.ts";
import { createServer } from "../../src/server/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { ask } from "../support/http-ask.ts";
import { readFacts, ServerFixture, until } from "../support/server-fixture.ts";

let nodes: ServerFixture;
beforeEach(async () => {
  nodes = await ServerFixture.open();
  return async () => await nodes[Symbol.asyncDispose]();
});

async function listenAnywhere(): Promise<{ server: Server; port: number } & AsyncDisposable> {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const close = async () => {
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  return { server, port, [Symbol.asyncDispose]: close };
}

const portOf = (address: string) => Number(address.split(":").at(-1));
const accepts = (address: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(portOf(address), "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });

test("a founder becomes ready, writes its ready file, drains at once when alone, and leaves nothing open", async () => {
  const before = process.getActiveResourcesInfo().length;
  const { server, dataDir, readyFile, log } = await nodes.start("n1");
  await server.whenReady(neverAborted);
  expect(readFacts(readyFile)).toEqual({
    node: server.info.node,
    pid: process.pid,
    grpc: server.info.grpc,
    http: server.info.http,
    gossip: server.info.gossip,
  });
  expect((await ask(portOf(server.info.http), "/-/ready")).status).toBe(200);
  const startedMs = performance.now();
  await Promise.all([server.drain(), server.drain()]);
  await server.closed;
  await server.destroy();
  expect(performance.now() - startedMs).toBeLessThan(2000);
  expect(await accepts(server.info.grpc)).toBe(false);
  expect(await accepts(server.info.http)).toBe(false);
  expect(existsSync(join(dataDir, "lock"))).toBe(false);
  expect(log.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  await until(() => process.getActiveResourcesInfo().length <= before);
});

test("two nodes in one process form a cluster, and the one that drains is served by the other", async () => {
  const first = await nodes.start("n1");
  await first.server.whenReady(neverAborted);
  const env = { GITALY_DRAIN_LINGER: "2s" };
  const second = await nodes.start("n2", { "join-addr": [`http://${first.server.info.grpc}`] }, { env });
  await second.server.whenReady(neverAborted);
  expect(second.server.info.clusterId).toBe(first.server.info.clusterId);
  await until(async () => (await first.metrics()).includes('gitaly_cluster_members{status="ready"} 2'));

  const draining = second.server.drain();
  const ready = await ask(portOf(second.server.info.http), "/-/ready");
  expect([ready.status, ready.body]).toEqual([503, expect.stringContaining("draining")]);
  await until(async () => (await first.metrics()).includes('gitaly_cluster_members{status="draining"} 1'));
  await draining;
  await until(async () => (await first.metrics()).includes('gitaly_cluster_members{status="left"} 1'));
});

test("a node with company lingers at least as long as it was told, and a second request ends that at once", async () => {
  const first = await nodes.start("n1");
  await first.server.whenReady(neverAborted);
  const env = { GITALY_DRAIN_LINGER: "600ms" };
  const second = await nodes.start("n2", { "join-addr": [`http://${first.server.info.grpc}`] }, { env });
  await second.server.whenReady(neverAborted);
  const startedMs = performance.now();
  const draining = second.server.drain();
  await delay(300);
  expect(await accepts(second.server.info.grpc)).toBe(true);
  await draining;
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(600);

  const third = await nodes.start("n3", { "join-addr": [`http://${first.server.info.grpc}`] }, { env: { GITALY_DRAIN_LINGER: "60s" } });
  await third.server.whenReady(neverAborted);
  const slow = third.server.drain();
  await third.server.destroy();
  await slow;
  await third.server.closed;
});

test("a node that waits for its cluster stops at once when it is told to", async () => {
  const { server, readyFile, dataDir } = await nodes.start("n1", { "join-addr": ["http://127.0.0.1:1"] });
  await until(() => server.waitingFor().includes("no member answers"));
  expect((await ask(portOf(server.info.http), "/-/ready")).status).toBe(503);
  const startedMs = performance.now();
  await server.drain();
  await server.closed;
  expect(performance.now() - startedMs).toBeLessThan(1500);
  expect([existsSync(readyFile), existsSync(join(dataDir, "lock")), existsSync(join(dataDir, "objects"))]).toEqual([false, false, false]);
});

test("a node that is told to stop at the last moment of its start never becomes ready, and leaves gossip", async () => {
  const registry = createMetrics();
  let drained: Promise<void> | undefined;
  let drain = (): Promise<void> | undefined => undefined;
  // The one thing that can be seen from outside after the node entered gossip and before it is ready.
  const gauge: MetricsRegistry["gauge"] = (...args) => {
    if (args[0] === "gitaly_cluster_members") drained = drain();
    return registry.gauge(...args);
  };
  const { server, log, readyFile } = await nodes.start("n1", {}, { metrics: { ...registry, gauge } });
  drain = () => server.drain();
  await until(() => drained !== undefined);
  await drained;
  await server.closed;
  expect(log.join("\n")).toContain('"message":"draining"');
  expect(log.join("\n")).not.toContain('"message":"ready"');
  expect(existsSync(readyFile)).toBe(false);
  expect(await accepts(server.info.gossip)).toBe(false);
});

test.each([0, 20, 50])("a node that is told to stop %d ms into its start stops", async (afterMs) => {
  const { server } = await nodes.start("n1");
  await delay(afterMs);
  await server.drain();
  await server.closed;
  expect(await accepts(server.info.grpc)).toBe(false);
});

test("a start that fails closes all it opened, and its directory can be used again", async () => {
  const other = await nodes.start("other");
  await other.server.whenReady(neverAborted);
  const first = await nodes.start("n1");
  await first.server.whenReady(neverAborted);
  await first.server.drain();
  // It has a store of its own, and is told to join another cluster.
  const again = await nodes.start("n1", { "join-addr": [`http://${other.server.info.grpc}`] });
  const failure = await failureOf(again.server.whenReady(neverAborted));
  expect(failure).toMatchObject({
    code: "cluster_mismatch",
    fields: { theirs: other.server.info.clusterId, ours: first.server.info.clusterId },
  });
  expect(await failureOf(again.server.closed)).toBe(failure);
  expect(await accepts(again.server.info.grpc)).toBe(false);
  const third = await nodes.start("n1");
  await third.server.whenReady(neverAborted);
});

test.each(["--listen-addr", "--http-addr", "--gossip-addr"])(
  "a port given by %s that is taken ends the start and leaves nothing behind",
  async (flag) => {
    await using taken = await listenAnywhere();
    const flags = { [flag.slice(2)]: `127.0.0.1:${taken.port}` };
    const failing = nodes.start("n1", flags).then(({ server }) => server.whenReady(neverAborted));
    expect(await failureOf(failing)).toMatchObject({ code: "failed_precondition", message: "the listener's port is taken" });
    await until(() => !existsSync(join(nodes.root, "n1", "lock")));
  },
);

test("a log directory that cannot be is told before anything is locked", async () => {
  writeFileSync(join(nodes.root, "file"), "");
  const config = nodes.config("n1", {}, { GITALY_LOGGING_DIR: join(nodes.root, "file", "below") });
  expect(await failureOf(createServer(config))).toMatchObject({ code: "bad_config" });
  expect(readdirSync(nodes.root)).toEqual(["file"]);
});

test("the ready file of an earlier start does not tell that this one serves", async () => {
  const readyFile = join(nodes.root, "n1.ready");
  writeFileSync(readyFile, "{}");
  const { server } = await nodes.start("n1", { "join-addr": ["http://127.0.0.1:1"] });
  expect(existsSync(readyFile)).toBe(false);
  await server.drain();
});
