import { createServer } from "node:net";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { neverAborted, startDeadline, systemClock, systemRandom } from "../../src/base/index.ts";
import { defaultPgAutoFailoverSourceOptions, PgAutoFailoverSource } from "../../src/db/discovery/pg-auto-failover-source.ts";
import type { DiscoveredServer } from "../../src/db/index.ts";
import { silentLogger } from "../../src/observability/index.ts";
import { describeDiscoverySource, firstServers } from "../compliance/discovery-source.ts";
import { becomeMonitor, notifyState, setNodes } from "../support/auto-failover-monitor.ts";
import { failureOf } from "../support/failure-of.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";
import { until } from "../support/until.ts";

let monitor: PostgresCluster;

beforeAll(async () => {
  monitor = await startPostgresCluster({ replicas: 0 });
  return async () => await monitor[Symbol.asyncDispose]();
});

beforeEach(async () => await becomeMonitor(monitor));

const source = (monitorUrl = monitor.primary.url) =>
  new PgAutoFailoverSource(
    { ...defaultPgAutoFailoverSourceOptions, monitorUrl },
    { clock: systemClock, random: systemRandom, logger: silentLogger },
  );
const asNodes = (servers: readonly DiscoveredServer[]) =>
  servers.map(({ host, port }, i) => ({ name: `node${i}`, host, port, state: "secondary" }));
const listeners = async () =>
  (await monitor.sql(monitor.primary, "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'gitaly discovery'"))[0]?.[
    "n"
  ];

describeDiscoverySource(
  "pg_auto_failover",
  async () => {
    await setNodes(monitor, asNodes(firstServers));
    return {
      source: source(),
      set: async (servers: readonly DiscoveredServer[]) => {
        await becomeMonitor(monitor);
        await setNodes(monitor, asNodes(servers));
      },
      fail: async () => {
        await monitor.sql(monitor.primary, "DROP SCHEMA pgautofailover CASCADE");
      },
      silence: async () => {},
      [Symbol.asyncDispose]: async () => await until("nobody listens any more", async () => (await listeners()) === 0),
    };
  },
  { neverSilent: true },
);

test("a monitor that accepts connections and says nothing is given up with the signal, and leaves nothing open", async () => {
  const hole = createServer((socket) => socket.on("error", () => {}).resume());
  await new Promise<void>((resolve) => hole.listen(0, "127.0.0.1", resolve));
  const { port } = hole.address() as { port: number };
  try {
    using deadline = startDeadline(systemClock, 100);
    expect((await failureOf(source(`postgres://x@127.0.0.1:${port}/y`).lookup(deadline.signal))).code).toBe("deadline_exceeded");
  } finally {
    // Ends only when all connections are gone.
    await new Promise((resolve) => hole.close(resolve));
  }
});

test("roles are told of settled nodes of the group only", async () => {
  await setNodes(monitor, [
    { name: "node1", port: 6601, state: "primary", goal: "draining" },
    { name: "node2", port: 6602, state: "wait_primary" },
    { name: "node3", port: 6603, state: "secondary" },
    { name: "node4", port: 6604, state: "maintenance" },
  ]);
  await monitor.sql(
    monitor.primary,
    "INSERT INTO pgautofailover.node (groupid, nodename, nodehost, nodeport, goalstate, reportedstate) VALUES (1, 'other', 'x', 1, 'primary', 'primary')",
  );
  expect((await source().lookup(neverAborted)).servers).toEqual([
    { name: "node1", host: "127.0.0.1", port: 6601 },
    { name: "node2", host: "127.0.0.1", port: 6602, role: "primary" },
    { name: "node3", host: "127.0.0.1", port: 6603, role: "replica" },
  ]);
});

test("changes are heard, those in transition are not, and after a lost connection all is looked at anew (case 52)", async () => {
  const controller = new AbortController();
  let changes = 0;
  const tested = source();
  const watching = tested.watch(() => changes++, controller.signal);
  try {
    await until("it was told of one change", () => changes === 1);
    await notifyState(monitor, { name: "node1", port: 6601, state: "primary", goal: "draining" });
    await notifyState(monitor, { name: "node2", port: 6602, state: "wait_primary" });
    await until("it was told of another change", () => changes > 1);
    expect(changes).toBe(2);
    // Lookups use the connection that listens.
    await tested.lookup(neverAborted);
    expect(await listeners()).toBe(1);
    await monitor.sql(
      monitor.primary,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gitaly discovery'",
    );
    await until("it was told of three changes", () => changes === 3);
    expect(await listeners()).toBe(1);
  } finally {
    controller.abort();
    await watching;
  }
  await until("nobody listens any more", async () => (await listeners()) === 0);
});

test("a monitor's URL that is none is refused", () => {
  expect(() => source("http://monitor/")).toThrow("monitor's URL");
});
