import { beforeAll, beforeEach, expect, test } from "vitest";
import { neverAborted, systemClock, systemRandom } from "../../src/base/index.ts";
import { defaultHostOptions, Host } from "../../src/db/hosts/host.ts";
import type { ReplicaState } from "../../src/db/hosts/host-list.ts";
import { defaultHostMonitorOptions, HostMonitor } from "../../src/db/hosts/host-monitor.ts";
import { listServers } from "../../src/db/hosts/listed-server.ts";
import { MonitorLog } from "../../src/db/hosts/monitor-log.ts";
import { type Logger, noMetrics } from "../../src/observability/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { startTcpFront } from "../support/tcp-front.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let first: PostgresServer;
let second: PostgresServer;
let monitor: HostMonitor;
let events: Record<string, unknown>[];

const options = {
  ...defaultHostOptions,
  ...defaultHostMonitorOptions,
  probeTimeoutMs: 1000,
  replicaCheckIntervalMs: 100,
  disconnectTimeoutMs: 500,
};
const note = (_message: string, fields?: Readonly<Record<string, unknown>>) => void events.push({ ...fields });
const logger: Logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
const deps = { clock: systemClock, random: systemRandom, logger };

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 2, others: 1 });
  [first, second] = cluster.replicas as [PostgresServer, PostgresServer];
  return async () => await cluster[Symbol.asyncDispose]();
}, 60_000);

beforeEach(async () => {
  events = [];
  monitor = new HostMonitor(listServers(cluster.primary.url, []), options, {
    ...deps,
    log: new MonitorLog({ logger, metrics: noMetrics }),
  });
  await monitor.ready;
  return async () => await monitor[Symbol.asyncDispose]();
});

const found = (...servers: PostgresServer[]) =>
  monitor.setFound(
    servers.map(({ port }) => ({ host: "127.0.0.1", port })),
    { authoritative: false },
  );
const stateOf = (server: PostgresServer): ReplicaState | undefined =>
  monitor.hosts.snapshot.replicas.find((state) => state.host.name === `127.0.0.1:${server.port}`);
const inUse = (server: PostgresServer) => until(`${server.port} is in use`, () => stateOf(server)?.usable === true);
const pidOf = async (host: Host | undefined) => {
  const result = await host?.query<{ pid: number }>(
    "SELECT pg_backend_pid() AS pid",
    undefined,
    { discard: false, prepare: false },
    neverAborted,
  );
  return result?.rows[0]?.pid;
};
const closed = () => events.filter(({ event }) => event === "host_list_disconnection");

test("a server that is added or removed leaves the others' connections alone (case 47)", async () => {
  found(first);
  await inUse(first);
  const primary = monitor.hosts.snapshot.primary?.host;
  const before = [await pidOf(primary), await pidOf(stateOf(first)?.host)];
  found(first, second);
  await inUse(second);
  expect(await pidOf(stateOf(second)?.host)).toBeGreaterThan(0);
  found(second);
  expect(stateOf(first)).toBeUndefined();
  found(first, second);
  found(first);
  await inUse(first);
  expect(await pidOf(monitor.hosts.snapshot.primary?.host)).toBe(before[0]);
  expect(monitor.hosts.snapshot.primary?.host).toBe(primary);
  await until("what was let go is closed", () => closed().length >= 2);
  expect(new Set(closed().map(({ how }) => how))).toEqual(new Set(["gentle"]));
});

test("what runs on a server that is removed may end, for a while (case 48)", async () => {
  found(first);
  await inUse(first);
  const host = stateOf(first)?.host as Host;
  const quick = host.query("SELECT pg_sleep(0.2)", undefined, { discard: false, prepare: false }, neverAborted);
  const slow = host
    .query("SELECT pg_sleep(60)", undefined, { discard: false, prepare: false }, neverAborted)
    .catch((error: Error) => error.message);
  await until("both run", () => host.connections.open === 2 && host.connections.idle === 0);
  found();
  expect((await quick).rows).toHaveLength(1);
  expect(closed()).toEqual([]);
  expect(await slow).toMatch(/terminated/);
  await until("it is closed", () => closed().length === 1);
  expect(closed()[0]).toMatchObject({ host: host.name, how: "forced" });
  // Who comes too late learns that nothing was sent.
  expect(await failureOf(host.acquire(neverAborted))).toMatchObject({ reason: "connect_failed" });
});

// Report: pgdog 1494
test("a connection that leads to another role than asked for is refused before anything is sent on it", async () => {
  const doubted: string[] = [];
  const address = { url: first.url, name: "standby" };
  const host = new Host("primary", address, defaultHostOptions, { ...deps, onRoleDoubt: ({ name }) => doubted.push(name) });
  try {
    expect(await failureOf(host.acquire(neverAborted))).toMatchObject({ code: "database_unavailable", reason: "connect_failed" });
    expect(doubted).toEqual(["standby"]);
    expect(host.connections.open).toBe(0);
  } finally {
    await host.close();
  }
});

test.each([
  ["announces no role, or a pooler before it,", "in_hot_standby", "in_hot_xxxxxxx"],
  // As it does where the server was promoted since the pooler first came to it.
  ["has a pooler before it that announces another role", "\x17in_hot_standby\0off\0", "\x16in_hot_standby\0on\0"],
])("a server that %s is asked for it", async (_what, said, announced) => {
  const rename = (chunk: Buffer) => Buffer.from(chunk.toString("latin1").replace(said, announced), "latin1");
  const acquire = async (server: PostgresServer) => {
    await using front = await startTcpFront(server.port, { rewrite: rename });
    const host = new Host("primary", { url: server.url.replace(`${server.port}`, `${front.port}`), name: "x" }, defaultHostOptions, deps);
    try {
      (await host.acquire(neverAborted))[Symbol.dispose]();
      return "accepted";
    } catch (error) {
      return (error as Error & { reason: string }).reason;
    } finally {
      await host.close();
    }
  };
  expect(await acquire(cluster.primary)).toBe("accepted");
  expect(await acquire(first)).toBe("connect_failed");
});

test("a server of another system is not used for anything", async () => {
  const [other] = cluster.others as [PostgresServer];
  found(first, other);
  await inUse(first);
  await until("it is recognised", () => stateOf(other)?.reason === "foreign_system");
  expect(stateOf(other)?.usable).toBe(false);
});

test("a logical replica is used while it follows, and says how far it is (two origins: nobody knows)", async () => {
  const [other] = cluster.others as [PostgresServer];
  const { primary } = cluster;
  await cluster.sql(primary, "CREATE TABLE published (v text)");
  await cluster.sql(primary, "CREATE PUBLICATION p FOR TABLE published");
  await cluster.sql(other, "CREATE TABLE published (v text)");
  const connection = `host=127.0.0.1 port=${primary.port} user=postgres dbname=postgres`;
  await cluster.sql(other, `CREATE SUBSCRIPTION s CONNECTION '${connection}' PUBLICATION p`);
  await cluster.sql(primary, "INSERT INTO published VALUES ('a')");
  found(first, other);
  await inUse(other);
  const { host } = stateOf(other) as ReplicaState;
  expect(host.role).toBe("replica");
  const written = await monitor.hosts.snapshot.primary?.host.written(neverAborted);
  await until("it has what was written", async () => {
    const reached = await host.reached(monitor.hosts.snapshot.primary?.position, neverAborted);
    return reached !== undefined && written !== undefined && reached.systemId === written.systemId && reached.lsn >= written.lsn;
  });
  expect(await cluster.sql(other, "SELECT v FROM published")).toEqual([{ v: "a" }]);

  await cluster.sql(other, "SELECT pg_replication_origin_create('another')");
  await cluster.sql(other, "SELECT pg_replication_origin_advance('another', '0/1')");
  await until("it is out", () => stateOf(other)?.usable === false);
  expect(stateOf(other)?.reason).toBe("origin_unknown");
  await cluster.sql(other, "SELECT pg_replication_origin_drop('another')");
  await inUse(other);
  await cluster.sql(other, "DROP SUBSCRIPTION s");
});

test("a logical replica whose log positions we may not see is left out", async () => {
  const [other] = cluster.others as [PostgresServer];
  await cluster.sql(cluster.primary, "CREATE PUBLICATION q FOR ALL TABLES");
  await cluster.sql(cluster.primary, "CREATE ROLE plain LOGIN").catch(() => {});
  await cluster.sql(other, "CREATE ROLE plain LOGIN");
  const connection = `host=127.0.0.1 port=${cluster.primary.port} user=postgres dbname=postgres`;
  await cluster.sql(other, `CREATE SUBSCRIPTION q CONNECTION '${connection}' PUBLICATION q WITH (copy_data = false)`);
  await cluster.caughtUp();
  const url = cluster.primary.url.replace("postgres@", "plain@");
  const plain = new HostMonitor(listServers(url, [`127.0.0.1:${other.port}`, `127.0.0.1:${first.port}`]), options, {
    ...deps,
    log: new MonitorLog({ logger, metrics: noMetrics }),
  });
  try {
    const state = (server: PostgresServer) => plain.hosts.snapshot.replicas.find(({ host }) => host.name.endsWith(`:${server.port}`));
    await until("it is judged", () => state(other)?.reason === "origin_unknown");
    await until("a standby is judged without any privilege", () => state(first)?.usable === true && state(first)?.lagBytes !== undefined);
    await cluster.sql(other, "GRANT SELECT ON pg_replication_origin_status TO plain");
    await cluster.sql(other, "GRANT EXECUTE ON FUNCTION pg_show_replication_origin_status() TO plain");
    // Privileges are asked for once per connection.
    await cluster.sql(other, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gitaly check'");
    await until("it is in use", () => state(other)?.usable === true);
  } finally {
    await plain[Symbol.asyncDispose]();
    await cluster.sql(other, "DROP SUBSCRIPTION q");
  }
});

test("a replica much slower than the others is left out for a while, and comes back with a part of its share (R13)", async () => {
  found(first, second);
  await inUse(first);
  await inUse(second);
  const nowMs = systemClock.monotonic();
  for (let i = 0; i < 100; i++) {
    stateOf(first)?.host.latency.add(500, nowMs);
    stateOf(second)?.host.latency.add(2, nowMs);
  }
  await until("the slow one is out", () => stateOf(first)?.usable === false);
  expect(stateOf(first)).toMatchObject({ reason: "outlier", weight: 0.1 });
  expect(stateOf(second)?.usable).toBe(true);
});

test("a replica that was promoted unnoticed is found out by the next statement on it, not by the next check (case 35)", async () => {
  const slow = { ...options, replicaCheckIntervalMs: 3_600_000 };
  const servers = listServers(cluster.primary.url, [first.url, second.url]);
  const rare = new HostMonitor(servers, slow, { ...deps, log: new MonitorLog({ logger, metrics: noMetrics }) });
  try {
    await rare.ready;
    const state = () => rare.hosts.snapshot.replicas.find(({ host }) => host.name.endsWith(`:${second.port}`));
    await until("it is in use", () => state()?.usable === true);
    const { host } = state() as ReplicaState;
    await pidOf(host);
    await second.promote();
    expect(rare.hosts.snapshot.primary?.host.name).toBe(`127.0.0.1:${cluster.primary.port}`);
    // A write that went astray would still be refused.
    const astray = host.query("CREATE TABLE astray ()", undefined, { discard: false, prepare: false }, neverAborted);
    await expect(astray).rejects.toMatchObject({ code: "25006" });
    await until("it is the primary", () => rare.hosts.snapshot.primary?.host.name === host.name);
    expect(state()).toBeUndefined();
  } finally {
    await rare[Symbol.asyncDispose]();
  }
});
