import { expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer, type LoadBalancerOptions } from "../../src/db/index.ts";
import type { Logger } from "../../src/observability/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { until } from "../support/until.ts";

type Tested = { lb: LoadBalancer; events: string[] } & AsyncDisposable;

async function balancer(options: Partial<LoadBalancerOptions> & Pick<LoadBalancerOptions, "primary">): Promise<Tested> {
  const events: string[] = [];
  const note = (_message: string, fields?: Readonly<Record<string, unknown>>) => {
    if (fields?.["event"]) events.push(String(fields["event"]));
  };
  const logger: Logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
  const lb = await createLoadBalancer(
    { replicaCheckIntervalMs: 100, probeTimeoutMs: 1000, primaryBackoffMs: 50, primaryDeadlineMs: 1000, ...options },
    { logger },
  );
  return { lb, events, [Symbol.asyncDispose]: () => lb.close() };
}

const portOf = async (lb: LoadBalancer, text: string) => (await lb.query<{ port: number }>(text)).rows[0]?.port;
const writtenAt = (lb: LoadBalancer) => portOf(lb, "INSERT INTO t VALUES (1) RETURNING inet_server_port()::int AS port");
const tries = (work: () => Promise<unknown>) =>
  work().then(
    () => true,
    () => false,
  );
const roles = (lb: LoadBalancer) =>
  Object.fromEntries(lb.status.map(({ host, role, reason }) => [host.split(":")[1], role === "none" ? reason : role]));

async function clusterWithTable(replicas: number): Promise<PostgresCluster & { first: PostgresServer; second: PostgresServer }> {
  const cluster = await startPostgresCluster({ replicas });
  await cluster.sql(cluster.primary, "CREATE TABLE t (v int)");
  await cluster.caughtUp();
  const [first, second] = cluster.replicas as [PostgresServer, PostgresServer];
  return { ...cluster, first, second };
}

// Report: pgpool2 13
test("a promoted replica is followed, its siblings with it, and the old primary comes back as a replica (case 35, B119)", async () => {
  await using cluster = await clusterWithTable(2);
  const { primary, first, second } = cluster;
  await using tested = await balancer({ primary: primary.url, replicas: [first.url, second.url] });
  const { lb, events } = tested;
  expect(await writtenAt(lb)).toBe(primary.port);

  await primary.shutDown();
  expect(await failureOf(lb.query("INSERT INTO t VALUES (2)"))).toMatchObject({ code: "database_unavailable" });
  await first.promote();
  await until("writes go to the promoted one", () => tries(() => writtenAt(lb)));
  expect(await writtenAt(lb)).toBe(first.port);
  expect(lb.status[0]).toMatchObject({ host: `127.0.0.1:${first.port}`, role: "primary", usable: true, timeline: 2 });
  expect(events).toContain("primary_changed");

  await second.follow(first);
  await until("the other replica has what was written since", async () => {
    const rows = await cluster.sql(second, "SELECT 1 FROM t");
    return rows.length > 1;
  });
  await until("it serves reads", async () => (await portOf(lb, "SELECT inet_server_port()::int AS port FROM t LIMIT 1")) === second.port);

  await primary.follow(first);
  await primary.start();
  await until("the old primary is a replica in use", () =>
    lb.status.some(({ host, role, usable }) => host === `127.0.0.1:${primary.port}` && role === "replica" && usable),
  );
  expect(roles(lb)).toEqual({ [first.port]: "primary", [primary.port]: "replica", [second.port]: "replica" });
  expect(await writtenAt(lb)).toBe(first.port);
}, 60_000);

test("an old primary that comes back and accepts writes gets none (B131)", async () => {
  await using cluster = await clusterWithTable(1);
  const { primary, first } = cluster;
  await using tested = await balancer({ primary: primary.url, replicas: [first.url] });
  const { lb, events } = tested;
  await until("the log is known", () => lb.status[0]?.timeline === 1);
  await primary.stop();
  await first.promote();
  await until("writes go to the promoted one", () => tries(() => writtenAt(lb)));
  await primary.start();
  await until("the old one is seen", () => roles(lb)[primary.port] === "old_timeline");
  expect(events).toContain("role_confusion");
  for (let i = 0; i < 20; i++) expect(await writtenAt(lb)).toBe(first.port);
  expect(await cluster.sql(primary, "SELECT 1 FROM t")).toEqual([]);
  // Nor when the new one is gone: what it took would be missing here.
  await first.stop();
  await until("the new one is out of sight", () => lb.status[0]?.usable === false);
  expect(await failureOf(lb.query("INSERT INTO t VALUES (2)"))).toMatchObject({ code: "database_unavailable" });
  expect(await cluster.sql(primary, "SELECT 1 FROM t")).toEqual([]);
}, 60_000);

test("a primary that is made read-only is none until it accepts writes again; reads go on (case 36)", async () => {
  await using cluster = await clusterWithTable(1);
  const { primary, first } = cluster;
  await using tested = await balancer({ primary: primary.url, replicas: [first.url] });
  const { lb } = tested;
  expect(await writtenAt(lb)).toBe(primary.port);
  const readOnly = async (value: "on" | "off") => {
    await cluster.sql(primary, `ALTER SYSTEM SET default_transaction_read_only = ${value}`);
    await cluster.sql(primary, "SELECT pg_reload_conf()");
  };
  await readOnly("on");
  const failure = await failureOf(
    (async () => {
      for (;;) await lb.query("INSERT INTO t VALUES (2)");
    })(),
  );
  expect(failure.code).toBe("database_unavailable");
  await until("it is seen", () => roles(lb)[primary.port] === "replica");
  expect(await portOf(lb, "SELECT inet_server_port()::int AS port")).toBe(first.port);
  await first.stop();
  await until("reads go to the only one that is left", () => tries(() => portOf(lb, "SELECT inet_server_port()::int AS port")));
  await readOnly("off");
  await until("writes are accepted again", () => tries(() => writtenAt(lb)));
}, 60_000);

test("two servers that accept writes on one timeline get none, and say so; one standby alone serves reads (B131)", async () => {
  await using cluster = await clusterWithTable(1);
  const { primary, first } = cluster;
  await using tested = await balancer({ primary: primary.url, replicas: [first.url] });
  await using alone = await balancer({ primary: first.url });
  expect(await portOf(alone.lb, "SELECT inet_server_port()::int AS port")).toBe(first.port);
  expect(await failureOf(alone.lb.query("INSERT INTO t VALUES (2)"))).toMatchObject({ code: "database_unavailable" });
  const { lb, events } = tested;
  await until("the log is known", () => lb.status[0]?.timeline === 1);
  await first.stop();
  await first.isolate();
  await first.start();
  await until("both are seen", () => events.includes("two_primaries"));
  for (let i = 0; i < 3; i++) {
    expect(await failureOf(lb.query("INSERT INTO t VALUES (2)"))).toMatchObject({ code: "database_unavailable", retryAfterMs: 1000 });
  }
  for (const server of [primary, first]) expect(await cluster.sql(server, "SELECT 1 FROM t")).toEqual([]);
  await first.stop();
  await until("the remaining one is written to", () => tries(() => writtenAt(lb)));
  expect(await writtenAt(lb)).toBe(primary.port);
}, 60_000);

test("a URL of several servers finds the one that accepts writes, and its target_session_attrs says what the others are for", async () => {
  await using cluster = await clusterWithTable(2);
  const { primary, first, second } = cluster;
  const url = (target: string) =>
    `postgres://postgres@127.0.0.1:${first.port},127.0.0.1:${primary.port},127.0.0.1:${second.port}/postgres?target_session_attrs=${target}`;
  const readers = async (lb: LoadBalancer) => {
    const ports = await Promise.all(Array.from({ length: 20 }, () => portOf(lb, "SELECT inet_server_port()::int AS port")));
    return [...new Set(ports)].sort();
  };
  const standbys = [first.port, second.port].sort();
  for (const target of ["read-write", "primary"]) {
    await using tested = await balancer({ primary: url(target) });
    expect(await writtenAt(tested.lb)).toBe(primary.port);
    expect(await readers(tested.lb)).toEqual([primary.port]);
  }
  for (const target of ["any", "prefer-standby"]) {
    await using tested = await balancer({ primary: url(target) });
    expect(await writtenAt(tested.lb)).toBe(primary.port);
    expect(await readers(tested.lb)).toEqual(standbys);
  }
  await using tested = await balancer({ primary: url("standby") });
  expect(await readers(tested.lb)).toEqual(standbys);
  expect(await failureOf(tested.lb.query("INSERT INTO t VALUES (2)"))).toMatchObject({ code: "database_unavailable" });

  await using moving = await balancer({ primary: url("read-write") });
  expect(await writtenAt(moving.lb)).toBe(primary.port);
  await primary.stop();
  await second.promote();
  await until("writes go to the promoted one", () => tries(() => writtenAt(moving.lb)));
  expect(await writtenAt(moving.lb)).toBe(second.port);
}, 60_000);
