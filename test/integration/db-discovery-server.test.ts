import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import { GitalyClient } from "../../src/client/index.ts";
import { startDnsServer } from "../support/dns-server.ts";
import { startPostgresCluster } from "../support/postgres-cluster.ts";
import { ServerFixture, until } from "../support/server-fixture.ts";

test("a node finds the replicas of its database, lists from them while the primary is down, and keeps their list in its data directory", async () => {
  await using database = await startPostgresCluster({ replicas: 1 });
  const port = database.replicas[0]?.port as number;
  await using dns = await startDnsServer(() => ({
    answers: [{ type: "SRV", name: "db.test", ttl: 5, data: { target: "node.test", port } }],
    additionals: [{ type: "A", name: "node.test", ttl: 5, data: "127.0.0.1" }],
  }));
  await using nodes = await ServerFixture.open();
  const env = {
    GITALY_DATABASE_URL: database.primary.url,
    GITALY_DATABASE_DISCOVERY_RECORD: "db.test",
    GITALY_DATABASE_DISCOVERY_RECORD_TYPE: "SRV",
    GITALY_DATABASE_DISCOVERY_NAMESERVER: "127.0.0.1",
    GITALY_DATABASE_DISCOVERY_PORT: String(dns.port),
  };
  const node = await nodes.start("n1", {}, { env });
  await node.server.whenReady(neverAborted);
  await using client = new GitalyClient({ addresses: `http://${node.server.info.grpc}` });
  const listed = async () => {
    const paths: string[] = [];
    for await (const page of client.cluster.listRepositories({ prefix: "" }))
      paths.push(...page.repositories.map(({ relativePath }) => relativePath));
    return paths;
  };
  await client.repository.createRepository({ repository: { storageName: "default", relativePath: "a.git" } });
  await until(async () => (await listed().catch((): string[] => [])).includes("a.git"));
  await database.caughtUp();
  const kept = JSON.parse(await readFile(join(node.dataDir, "database-hosts.json"), "utf8"));
  expect(kept.servers).toEqual([{ host: "127.0.0.1", port, name: "node.test" }]);
  await database.primary.stop();
  await until(async () => (await listed().catch((): string[] => [])).includes("a.git"));
});
