import { expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import { GitalyClient } from "../../src/client/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";
import { ServerFixture, type ServerNode } from "../support/server-fixture.ts";
import { until } from "../support/until.ts";

const repository = (relativePath: string) => ({ storageName: "default", relativePath });
/** Two hops have been made already: whoever is asked serves. */
const here = { "gitaly-redirect-hops": "2" };

async function listed(client: GitalyClient, metadata: Record<string, string> = {}): Promise<string[]> {
  const paths: string[] = [];
  for await (const page of client.cluster.listRepositories({ prefix: "" }, { metadata }))
    paths.push(...page.repositories.map(({ relativePath }) => relativePath));
  return paths;
}

/** Two nodes over one database, each with its own part of the configuration. */
async function twoNodes(
  nodes: ServerFixture,
  database: PostgresCluster,
  [first, second]: readonly [Record<string, string>, Record<string, string>],
): Promise<[ServerNode, ServerNode]> {
  const urls = { GITALY_DATABASE_URL: database.primary.url, GITALY_DATABASE_REPLICAS: database.replicas.map(({ url }) => url).join() };
  const one = await nodes.start("n1", { "node-name": "n1" }, { env: { ...urls, ...first } });
  await one.server.whenReady(neverAborted);
  const join = { "node-name": "n2", "join-addr": [`http://${one.server.info.grpc}`] };
  const two = await nodes.start("n2", join, { env: { ...urls, ...second } });
  await two.server.whenReady(neverAborted);
  return [one, two];
}

const clientOf = (node: ServerNode, consistency = "") => new GitalyClient({ addresses: `http://${node.server.info.grpc}`, consistency });

/** A repository that both nodes' replicas list, so that the schema is there and nothing waits to be written. */
async function settled(one: ServerNode, two: ServerNode): Promise<void> {
  await using writing = clientOf(one);
  await using reading = clientOf(two);
  await writing.repository.createRepository({ repository: repository("before.git") }, { metadata: here });
  await until("the first repository is listed", async () => (await listed(reading).catch((): string[] => [])).includes("before.git"));
}

test("who writes through one node sees it through any other while replicas lag, also over a redirect and while secrets are replaced; others need not wait", async () => {
  await using database = await startPostgresCluster({ replicas: 1 });
  await using nodes = await ServerFixture.open();
  const secrets = ["the old secret of the cluster", "the new secret of the cluster"];
  const token = (given: readonly string[]) => ({ GITALY_DATABASE_STICKING_STORE: "token", GITALY_DATABASE_STICKING_SECRET: given.join() });
  const [one, two] = await twoNodes(nodes, database, [token(secrets), token([...secrets].reverse())]);
  await settled(one, two);
  const [replica] = database.replicas;
  if (!replica) throw new Error("no replica");
  await database.caughtUp();
  await database.sql(replica, "SELECT pg_wal_replay_pause()");

  await using writer = clientOf(one);
  await writer.repository.createRepository({ repository: repository("mine.git") }, { metadata: here });
  expect(writer.consistency).toMatch(/^p1\./);
  await using stranger = clientOf(two);
  expect(await listed(stranger)).toEqual(["before.git"]);
  expect(stranger.consistency).toBe("");
  await using elsewhere = clientOf(two, writer.consistency);
  expect(await listed(elsewhere)).toEqual(["before.git", "mine.git"]);
  // It goes on bringing it along, signed anew by the other node.
  expect(elsewhere.consistency).toMatch(/^p1\./);
  expect(elsewhere.consistency).not.toBe(writer.consistency);
  await using back = clientOf(one, elsewhere.consistency);
  expect(await listed(back)).toContain("mine.git");

  // One that follows redirects writes at the owner and reads where it asked first.
  await using follower = clientOf(two);
  let path = "";
  for (let i = 0; path === ""; i++) {
    const { owners } = await follower.cluster.route({ repository: repository(`r${i}.git`) });
    if (owners[0]?.name === "n1") path = `r${i}.git`;
  }
  const servedBy: string[] = [];
  await follower.repository.createRepository({ repository: repository(path) }, { onHeader: ({ node }) => servedBy.push(node) });
  expect(servedBy).toEqual(["n1"]);
  expect(await listed(follower)).toContain(path);
  await follower.repository.removeRepository({ repository: repository(path) });
  expect(await listed(follower)).not.toContain(path);

  // What is not believed changes nothing but a counter.
  const forged = `${writer.consistency.slice(0, -4)}AAAA`;
  const hostile = [...Array.from({ length: 17 }, (_, i) => `nonsense${i}`), forged].join();
  expect(await listed(stranger, { "gitaly-consistency": hostile })).toEqual(["before.git"]);
  expect(await listed(stranger, { "gitaly-consistency": forged })).toEqual(["before.git"]);
  expect(await listed(stranger, { "gitaly-consistency": `${"x".repeat(9000)}` })).toEqual(["before.git"]);
  const metrics = await two.metrics();
  expect(metrics).toContain('dblb_position_tokens_total{verdict="malformed"} 17');
  expect(metrics).toContain('dblb_position_tokens_total{verdict="forged"} 1');
  expect(metrics).toContain('dblb_position_tokens_total{verdict="surplus"} 2');
  expect(metrics).toMatch(/dblb_reads_total\{target="primary",reason="sticky"\} [1-9]/);

  await database.sql(replica, "SELECT pg_wal_replay_resume()");
  await until("nothing is left to remember", async () => (await listed(elsewhere)).includes("mine.git") && elsewhere.consistency === "");
});

test("limits of lag are the operator's, a caller may take older answers, nonsense is refused, and the fall-back budget is shared by the nodes", async () => {
  await using database = await startPostgresCluster({ replicas: 1 });
  await using nodes = await ServerFixture.open();
  const strict = {
    GITALY_DATABASE_MAX_REPLICATION_LAG_TIME: "1s",
    GITALY_DATABASE_MAX_REPLICATION_DIFFERENCE: "0",
    GITALY_DATABASE_REPLICA_CHECK_INTERVAL: "200ms",
    GITALY_DATABASE_OVERLOAD_FALLBACK_MIN_PER_SECOND: "1000",
    GITALY_DATABASE_OVERLOAD_FALLBACK_MAX_PER_SECOND: "1000",
    GITALY_DATABASE_OVERLOAD_ADAPTIVE: "false",
  };
  const [one, two] = await twoNodes(nodes, database, [strict, { ...strict, GITALY_DATABASE_OVERLOAD_FLEET_WIDE: "true" }]);
  await settled(one, two);
  const budgetOf = async (node: ServerNode) => /^dblb_fallback_per_second (\S+)$/m.exec(await node.metrics())?.[1];
  expect(await budgetOf(one)).toBe("1000");
  expect(await budgetOf(two)).toBe("500");
  const [replica] = database.replicas;
  if (!replica) throw new Error("no replica");
  await database.caughtUp();
  await database.sql(replica, "SELECT pg_wal_replay_pause()");
  await using writer = clientOf(one);
  await writer.repository.createRepository({ repository: repository("new.git") }, { metadata: here });

  await using reader = clientOf(two);
  const lagging = async () => (await reader.cluster.databaseStatus({})).servers.find(({ role }) => role === "replica")?.reason === "lag";
  await until("the replica is out for its lag", lagging);
  expect(await listed(reader)).toEqual(["before.git", "new.git"]);
  expect(await listed(reader, { "gitaly-max-staleness": "1h" })).toEqual(["before.git"]);
  expect(await listed(reader, { "gitaly-max-staleness": "10ms" })).toEqual(["before.git", "new.git"]);
  expect(await failureOf(listed(reader, { "gitaly-max-staleness": "soon" }))).toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining("gitaly-max-staleness"),
  });
  // Without tokens nobody is asked to bring one along.
  expect(writer.consistency).toBe("");
});
