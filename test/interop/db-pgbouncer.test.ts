import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "../../src/base/index.ts";
import { askOnce } from "../support/managed-node.ts";
import { peerSuite } from "../support/peer-suite.ts";
import { type Pgbouncer, pgbouncerMissing, startPgbouncer } from "../support/pgbouncer.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { until } from "../support/until.ts";

const { missing, required } = peerSuite("db-pgbouncer", pgbouncerMissing());
if (missing !== undefined && required) {
  test("the peer of this suite is installed", () => {
    expect(missing).toBeUndefined();
  });
}

/** `gitaly db watch` as its user would start it. */
function startWatch(onChange: string, servers: readonly PostgresServer[]) {
  const args = ["db", "watch", "--on-change", onChange, ...servers.flatMap(({ url }) => ["--database", url])];
  const child = spawn(process.execPath, [join(packageRoot, "cmd", "gitaly", "gitaly.js"), ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const watch = { output: "", child };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      watch.output += chunk;
    });
  }
  return {
    watch,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null) return;
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}

describe.skipIf(missing !== undefined)("a PgBouncer that `gitaly db watch` points to the primary", () => {
  let cluster: PostgresCluster;
  let standby: PostgresServer;
  let bouncer: Pgbouncer;
  beforeAll(async () => {
    cluster = await startPostgresCluster({ replicas: 1 });
    [standby] = cluster.replicas as [PostgresServer];
    bouncer = await startPgbouncer();
    await askOnce(cluster.primary.url, "CREATE TABLE written (value int PRIMARY KEY)");
    await cluster.caughtUp();
  });
  afterAll(async () => {
    await bouncer?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  test("leads open sessions to the new primary after a promotion, and loses nothing that was acknowledged", async () => {
    await using started = startWatch(bouncer.repoint, [cluster.primary, standby]);
    const { watch } = started;
    await until("the pooler leads to the primary", () => watch.output.includes(`127.0.0.1:${cluster.primary.port} is the primary`), 30_000);
    // The same client all the time: it is the pooler that moves.
    const client = new pg.Client({ connectionString: bouncer.url, query_timeout: 30_000 });
    client.on("error", () => {});
    await client.connect();
    const acknowledged: number[] = [];
    const failures = new Set<unknown>();
    let next = 0;
    const write = async () => {
      const value = next++;
      try {
        await client.query("INSERT INTO written VALUES ($1)", [value]);
        acknowledged.push(value);
      } catch (error) {
        failures.add((error as { code?: string }).code);
      }
    };
    const here = async () => (await client.query("SELECT inet_server_port() AS port").catch(() => ({ rows: [] }))).rows[0]?.port;
    for (let i = 0; i < 20; i++) await write();
    expect(acknowledged).toHaveLength(20);
    expect(await here()).toBe(cluster.primary.port);

    await cluster.primary.shutDown();
    await standby.promote();
    await until("the session's statements reach the new primary", async () => {
      await write();
      return (await here()) === standby.port;
    });
    for (let i = 0; i < 20; i++) await write();
    expect(watch.output).toContain(`127.0.0.1:${standby.port} is the primary`);
    const rows = await askOnce(standby.url, "SELECT value FROM written");
    const found = new Set(rows.map((row) => row["value"]));
    expect(acknowledged.filter((value) => !found.has(value))).toEqual([]);
    await client.end();
  });
});
