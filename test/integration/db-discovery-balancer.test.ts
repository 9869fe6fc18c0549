import { join } from "node:path";
import type { Answer } from "dns-packet";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { createLoadBalancer, type DiscoveryOptions, type LoadBalancer } from "../../src/db/index.ts";
import { createMetrics } from "../../src/observability/index.ts";
import { becomeMonitor, setNodes } from "../support/auto-failover-monitor.ts";
import { type DnsServer, startDnsServer } from "../support/dns-server.ts";
import { failureOf } from "../support/failure-of.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { readPort, readPorts } from "../support/reading-servers.ts";
import { tempDir } from "../support/temp-dir.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let dns: DnsServer;
let one: PostgresServer;
let two: PostgresServer;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 2 });
  [one, two] = cluster.replicas as [PostgresServer, PostgresServer];
  dns = await startDnsServer();
  return async () => {
    await dns[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  };
});

beforeEach(() => {
  answer(one, two);
  dns.asked.length = 0;
});

/** Makes the nameserver name these servers. */
function answer(...servers: readonly PostgresServer[]): void {
  const answers: Answer[] = servers.map(({ port }) => ({
    type: "SRV",
    name: "replicas.test",
    ttl: 1,
    data: { target: "node.test", port },
  }));
  dns.reply = () => ({ answers, additionals: [{ type: "A", name: "node.test", ttl: 1, data: "127.0.0.1" }] });
}

const discovery = (): DiscoveryOptions => ({
  nameserver: "127.0.0.1",
  port: dns.port,
  record: "replicas.test",
  recordType: "SRV",
  intervalMs: 100,
});
const balancer = (more: Partial<DiscoveryOptions> = {}, metrics = createMetrics()) =>
  createLoadBalancer(
    // A busy machine is no reason to doubt a server here.
    { primary: cluster.primary.url, probeTimeoutMs: 1000, discovery: { ...discovery(), ...more } as DiscoveryOptions },
    { metrics },
  );
const portsOf = (lb: LoadBalancer) => readPorts(lb, 40);
const listed = (lb: LoadBalancer) => lb.status.map(({ host }) => Number(host.split(":").at(-1))).sort();
const backends = async (server: PostgresServer) =>
  (await cluster.sql(server, "SELECT pid FROM pg_stat_activity WHERE application_name = 'gitaly' ORDER BY pid")).map((row) => row["pid"]);

test("replicas that discovery names serve from the first read on", async () => {
  await using lb = await balancer();
  expect(await portsOf(lb)).toEqual(new Set([one.port, two.port]));
  expect(lb.discoveryAgeMs).toBeLessThan(10_000);
});

test("a replica that comes leaves the connections to the others alone (case 47)", async () => {
  answer(one);
  await using lb = await balancer();
  expect(await portsOf(lb)).toEqual(new Set([one.port]));
  const before = await backends(one);
  expect(before.length).toBeGreaterThan(0);
  answer(one, two);
  await until("the new replica is read", async () => (await portsOf(lb)).has(two.port));
  expect(await backends(one)).toEqual(expect.arrayContaining(before));
});

test("a replica that is no longer named goes after the second such answer, and what runs there may end (case 48)", async () => {
  answer(one);
  await using lb = await balancer();
  const running = lb.query<{ port: number }>("SELECT inet_server_port() AS port FROM pg_sleep(5)");
  answer(two);
  await until("the former replica is off the list", () => !listed(lb).includes(one.port));
  expect(dns.asked.length).toBeGreaterThanOrEqual(3);
  expect(await portsOf(lb)).toEqual(new Set([two.port]));
  expect((await running).rows).toEqual([{ port: one.port }]);
  await until("its connections are closed", async () => (await backends(one)).length === 0);
});

test("a nameserver that fails, or knows of none, changes nothing (case 43, B130)", async () => {
  const metrics = createMetrics();
  await using lb = await balancer({ retryMs: 100, maxRetryMs: 200 }, metrics);
  for (const reply of [{ code: 3 }, { code: 2 }, {}]) {
    dns.reply = () => reply;
    const before = dns.asked.length;
    await until("it has asked twice more", () => dns.asked.length >= before + 2);
    expect(await portsOf(lb)).toEqual(new Set([one.port, two.port]));
  }
  const text = await metrics.expose();
  expect(text).toMatch(/dblb_discovery_age_seconds\{source="dns"\} [1-9]/);
  expect(text).not.toContain('dblb_reads_total{target="primary"');
});

test("a start without a nameserver uses the replicas of the kept list (case 44)", async () => {
  await using dir = await tempDir();
  const snapshotFile = join(dir.path, "hosts.json");
  await (await balancer({ snapshotFile })).close();
  const dead = { snapshotFile, port: 1, record: "replicas.test" };
  // A list that was found with another question is not the one that is meant.
  await using other = await balancer({ ...dead, seedHosts: [`127.0.0.1:${two.port}`] });
  expect(await portsOf(other)).toEqual(new Set([two.port]));
  dns.reply = () => ({ code: 2 });
  const metrics = createMetrics();
  await using lb = await balancer({ snapshotFile }, metrics);
  expect(await portsOf(lb)).toEqual(new Set([one.port, two.port]));
  expect(await metrics.expose()).not.toContain('dblb_reads_total{target="primary"');
});

test("replicas that are configured always stay, whatever discovery says", async () => {
  answer(two);
  await using lb = await createLoadBalancer({ primary: cluster.primary.url, replicas: [one.url], discovery: discovery() });
  expect(await portsOf(lb)).toEqual(new Set([one.port, two.port]));
  const asked = dns.asked.length;
  await until("it has asked three times more", () => dns.asked.length >= asked + 3);
  expect(listed(lb)).toEqual([cluster.primary.port, one.port, two.port].sort());
});

test("a server that cannot be reached brings the next lookup forward", async () => {
  answer(one);
  await using lb = await balancer({ intervalMs: 3_600_000 });
  answer(one, two);
  await one.stop();
  try {
    await readPort(lb);
    await until("the new replica is listed", () => listed(lb).includes(two.port));
  } finally {
    await one.start();
  }
});

test("what a failover monitor says of roles binds: a server it does not call primary is not written to", async () => {
  await becomeMonitor(cluster);
  const node = (server: PostgresServer, state: string) => ({ name: `n${server.port}`, port: server.port, state });
  await setNodes(cluster, [node(cluster.primary, "primary"), node(one, "secondary"), node(two, "secondary")]);
  await cluster.caughtUp();
  await using lb = await createLoadBalancer({
    primary: cluster.primary.url,
    discovery: { source: "pg_auto_failover", monitorUrl: cluster.primary.url, intervalMs: 100 },
  });
  await lb.query("CREATE TABLE written (id int)");
  // The primary is there and would take it, but is not the one any more.
  await setNodes(cluster, [node(cluster.primary, "secondary"), node(one, "primary"), node(two, "secondary")]);
  await until("no primary is known", () => lb.status.every(({ role }) => role !== "primary"));
  expect((await failureOf(lb.query("INSERT INTO written VALUES (1)"))).code).toBe("database_unavailable");
  expect(await portsOf(lb)).toEqual(new Set([one.port, two.port]));
  await setNodes(cluster, [node(cluster.primary, "primary"), node(one, "secondary"), node(two, "secondary")]);
  await until("a primary is known again", () => lb.status.some(({ role }) => role === "primary"));
  await lb.query("INSERT INTO written VALUES (2)");
  expect(await cluster.sql(cluster.primary, "SELECT id FROM written")).toEqual([{ id: 2 }]);
});
