import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { startDnsServer } from "../support/dns-server.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { startTcpFront } from "../support/tcp-front.ts";
import { tempDir } from "../support/temp-dir.ts";
import { until } from "../support/until.ts";

const program = fileURLToPath(new URL("../support/db-user.main.ts", import.meta.url));
let cluster: PostgresCluster;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  await cluster.sql(cluster.primary, "CREATE TABLE t (id int)");
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
});

/** Runs the program to its end, or kills it after a while; what it said, and how it ended. */
async function run(how: string, options: Record<string, unknown>): Promise<{ said: string; ended: number | string | null }> {
  const child = spawn(process.execPath, ["--import", "tsx", program, how, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const chunks: string[] = [];
  child.stdout.on("data", (chunk: Buffer) => void chunks.push(chunk.toString()));
  const patience = setTimeout(() => child.kill("SIGKILL"), 60_000);
  const [code, signal] = await once(child, "close");
  clearTimeout(patience);
  return { said: chunks.join(""), ended: signal ?? code };
}

// Case 55
test.each([
  ["close", "closed\n"],
  ["destroy", "closed\n"],
  ["a start that fails", "bad_config\n"],
])("after %s nothing keeps the process from ending, and no connection is left at the servers", async (how, said) => {
  const replica = cluster.replicas[0] as PostgresServer;
  const applicationName = `ends after ${how}`;
  await using silent = await startTcpFront(replica.port);
  silent.swallow();
  await using dns = await startDnsServer(() => undefined);
  await using dir = await tempDir();
  const outcome = await run(how, {
    primary: cluster.primary.url,
    replicas: [replica.url, `127.0.0.1:${silent.port}`],
    applicationName,
    sticking: { secret: "a secret for position tokens" },
    discovery: { record: "replicas.test", nameserver: "127.0.0.1", port: dns.port, snapshotFile: `${dir.path}/hosts.json` },
  });
  expect(outcome).toEqual({ said, ended: 0 });
  for (const server of [cluster.primary, replica]) {
    const left = `SELECT FROM pg_stat_activity WHERE application_name LIKE '${applicationName}%'`;
    await until("no connection is left", async () => (await cluster.sql(server, left)).length === 0);
  }
});
