import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/index.ts";
import { runChecks } from "../../src/server/index.ts";
import { configInput } from "../support/config-input.ts";
import { startDnsServer } from "../support/dns-server.ts";
import { startPostgresCluster } from "../support/postgres-cluster.ts";
import { tempDir } from "../support/temp-dir.ts";

test("the check of the configuration says which database servers are found and what they are, or why none can be", async () => {
  await using database = await startPostgresCluster({ replicas: 2 });
  const [listed, found] = database.replicas.map(({ port }) => port) as [number, number];
  await using dir = await tempDir();
  await using dns = await startDnsServer(() => ({
    answers: [listed, found, 1].map((port) => ({ type: "SRV", name: "db.test", ttl: 5, data: { target: "node.test", port } })),
    additionals: [{ type: "A", name: "node.test", ttl: 5, data: "127.0.0.1" }],
  }));
  const env = {
    GITALY_DATABASE_URL: database.primary.url,
    GITALY_DATABASE_REPLICAS: database.replicas[0]?.url ?? "",
    GITALY_DATABASE_DISCOVERY_RECORD: "db.test",
    GITALY_DATABASE_DISCOVERY_RECORD_TYPE: "SRV",
    GITALY_DATABASE_DISCOVERY_NAMESERVER: "127.0.0.1",
    GITALY_DATABASE_DISCOVERY_PORT: String(dns.port),
  };
  const check = async () => {
    for await (const result of runChecks(loadConfig(configInput({ env, flags: { "data-dir": dir.path } })))) {
      if (result.name === "database") return result;
    }
    return undefined;
  };
  const at = (port: number) => `postgres://127.0.0.1:${port}/postgres`;
  expect(await check()).toEqual({
    name: "database",
    ok: true,
    message: `${at(database.primary.port)} is the primary, ${at(listed)} is the replica, 127.0.0.1:${found} is found and a replica, 127.0.0.1:1 is found and not usable: connect_failed`,
  });
  dns.reply = () => ({ code: 3 });
  expect(await check()).toEqual({ name: "database", ok: false, message: "database.discovery: there is no such name in DNS" });
});
