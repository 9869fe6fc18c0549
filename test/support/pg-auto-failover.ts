import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { askOnce, isReplicated, killPostmaster, type ManagedNode } from "./managed-node.ts";
import { PeerHome, type PeerProcess, programsMissing } from "./peer-home.ts";
import { until } from "./until.ts";

/** A monitor and two servers. */
export interface AutoFailover extends AsyncDisposable {
  readonly nodes: readonly ManagedNode[];
  readonly monitorUrl: string;
  /** What the monitor says of its nodes, by name: `reported/goal`. */
  states(): Promise<Record<string, string>>;
  /** Waits until one of them is primary, the other follows it, and commits wait for it. */
  settled(): Promise<void>;
  /** Has the monitor exchange the two. */
  performFailover(): Promise<void>;
}

/** Why it cannot be started on this machine; undefined where it can. */
export function autoFailoverMissing(): string | undefined {
  return programsMissing(["pg_autoctl", "postgres", "psql"]);
}

/** What decides how long a lost node is waited for; the defaults are for machines that are far away. */
const patience = {
  health_check_period: 1000,
  health_check_timeout: 1000,
  health_check_retry_delay: 300,
  node_considered_unhealthy_timeout: 3000,
  primary_demote_timeout: 2000,
};
const noSecrets = ["--auth", "trust", "--no-ssl"];
const loopback = ["--hostname", "127.0.0.1"];

/** Starts a formation of two on loopback; it takes about 15 seconds. */
export async function startAutoFailover(): Promise<AutoFailover> {
  const home = await PeerHome.open();
  try {
    const monitorPort = await freePort();
    const monitorUrl = `postgres://autoctl_node@127.0.0.1:${monitorPort}/pg_auto_failover`;
    await startMonitor(home, monitorPort);
    const ask = (text: string, values?: unknown[]) => askOnce(monitorUrl, text, values);
    const states = async () => {
      const rows = await ask("SELECT nodename, reportedstate || '/' || goalstate AS state FROM pgautofailover.node ORDER BY nodeid");
      return Object.fromEntries(rows.map((row) => [row["nodename"], row["state"]]));
    };
    await until("the monitor answers", () => ask("SELECT 1").then(Boolean, () => false), 30_000);
    for (const [name, value] of Object.entries(patience))
      await asOwner(monitorPort, home, `ALTER SYSTEM SET pgautofailover.${name} = ${value}`);
    await asOwner(monitorPort, home, "SELECT pg_reload_conf()");
    const first = await startNode(home, "node1", monitorUrl);
    await until("the first node is ready", async () => (await states())["node1"] === "single/single", 60_000);
    const second = await startNode(home, "node2", monitorUrl);
    const nodes = [first, second];
    const settled = () => until("the formation is settled", () => isSettled(states, nodes), 90_000);
    // Without it the new node's copy waits minutes for the next checkpoint.
    await until(
      "the second node follows",
      async () => {
        await askOnce(first.url, "CHECKPOINT");
        return await isSettled(states, nodes);
      },
      120_000,
    );
    return {
      nodes,
      monitorUrl,
      states,
      settled,
      performFailover: async () => {
        await home.run("pg_autoctl", ["perform", "failover", "--monitor", monitorUrl]);
      },
      [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
    };
  } catch (error) {
    await home[Symbol.asyncDispose]();
    throw error;
  }
}

async function startMonitor(home: PeerHome, port: number): Promise<void> {
  const pgdata = ["--pgdata", join(home.dir, "monitor")];
  await home.run("pg_autoctl", ["create", "monitor", ...pgdata, "--pgport", `${port}`, ...loopback, ...noSecrets]);
  await home.run("pg_autoctl", ["config", "set", ...pgdata, "postgresql.listen_addresses", "127.0.0.1"]);
  home.spawn("pg_autoctl", ["run", ...pgdata]);
}

async function startNode(home: PeerHome, name: string, monitorUrl: string): Promise<ManagedNode> {
  const port = await freePort();
  const pgdata = join(home.dir, name);
  let running: PeerProcess = home.spawn("pg_autoctl", [
    ...["create", "postgres", "--pgdata", pgdata, "--pgport", `${port}`, "--listen", "127.0.0.1", ...loopback, "--name", name],
    ...["--dbname", "app", ...noSecrets, "--monitor", monitorUrl, "--run"],
  ]);
  return {
    name,
    port,
    url: `postgres://postgres@127.0.0.1:${port}/app`,
    killServer: () => killPostmaster(pgdata),
    kill: () => running.killTree(),
    start: () => {
      running = home.spawn("pg_autoctl", ["run", "--pgdata", pgdata]);
    },
  };
}

async function isSettled(states: () => Promise<Record<string, string>>, nodes: readonly ManagedNode[]): Promise<boolean> {
  const now = await states().catch(() => ({}) as Record<string, string>);
  const primary = nodes.find(({ name }) => now[name] === "primary/primary");
  const calm = primary !== undefined && nodes.every((node) => node === primary || now[node.name] === "secondary/secondary");
  return calm && (await isReplicated(nodes));
}

async function asOwner(port: number, home: PeerHome, text: string): Promise<void> {
  await home.run("psql", ["-X", "-q", "-h", "127.0.0.1", "-p", `${port}`, "-U", "postgres", "-d", "pg_auto_failover", "-c", text]);
}
