import { expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import { GitalyClient } from "../../src/client/index.ts";
import { startPostgresCluster } from "../support/postgres-cluster.ts";
import { ServerFixture, until } from "../support/server-fixture.ts";

const repository = (relativePath: string) => ({ storageName: "default", relativePath });

async function listed(client: GitalyClient): Promise<string[]> {
  const paths: string[] = [];
  for await (const page of client.cluster.listRepositories({ prefix: "" }))
    paths.push(...page.repositories.map(({ relativePath }) => relativePath));
  return paths;
}

test("with an outside primary and a replica, listings go on while the primary is down, creates too, and the index is caught up later", async () => {
  await using database = await startPostgresCluster({ replicas: 1 });
  await using nodes = await ServerFixture.open();
  const env = { GITALY_DATABASE_URL: database.primary.url, GITALY_DATABASE_REPLICAS: database.replicas.map(({ url }) => url).join(",") };
  const writer = await nodes.start("n1", {}, { env });
  await writer.server.whenReady(neverAborted);
  // A node that has just written reads from the primary for a while; this one has not.
  const reader = await nodes.start("n2", { "join-addr": [`http://${writer.server.info.grpc}`] }, { env });
  await reader.server.whenReady(neverAborted);
  await using writing = new GitalyClient({ addresses: `http://${writer.server.info.grpc}` });
  await using reading = new GitalyClient({ addresses: `http://${reader.server.info.grpc}` });
  // Neither redirects: two hops have been made already.
  const here = { metadata: { "gitaly-redirect-hops": "2" } };
  await writing.repository.createRepository({ repository: repository("before.git") }, here);
  await until(async () => (await listed(reading).catch((): string[] => [])).includes("before.git"));

  const role = (path: string) => fetch(`http://${reader.server.info.http}${path}`);
  expect(await role(`/primary?server=127.0.0.1:${database.primary.port}`)).toMatchObject({ status: 200 });
  expect((await role("/replica")).headers.get("gitaly-node")).toBe(reader.server.info.node);
  expect(await role("/primary?server=127.0.0.1:1")).toMatchObject({ status: 404 });

  const { servers } = await reading.cluster.databaseStatus({});
  expect(servers.map((server) => [server.role, server.inRecovery, Number(server.lagBytes)])).toEqual([
    ["primary", false, Number.NaN],
    ["replica", true, expect.any(Number)],
  ]);

  await database.primary.stop();
  await until(async () => (await role("/primary")).status === 503);
  expect(await role("/replica?lag=16MB")).toMatchObject({ status: 200 });
  expect(await listed(reading)).toEqual(["before.git"]);
  await writing.repository.createRepository({ repository: repository("meanwhile.git") }, here);
  expect(await reading.repository.repositoryExists({ repository: repository("meanwhile.git") })).toEqual({ exists: true });

  await database.primary.start();
  await until(async () => (await listed(reading)).includes("meanwhile.git"));
});
