import { afterAll, beforeAll, expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import { RdsSource } from "../../src/db/discovery/rds-source.ts";
import type { DiscoveredServer } from "../../src/db/index.ts";
import { describeDiscoverySource, firstServers } from "../compliance/discovery-source.ts";
import { type RdsApi, type RdsInstance, startRdsApi } from "../support/rds-api.ts";

const credentials = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };
const before = { ...process.env };
beforeAll(() => void Object.assign(process.env, credentials));
afterAll(() => {
  for (const name of Object.keys(credentials)) {
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  }
});

const ofInstance = (api: RdsApi) => new RdsSource({ instance: "db", region: "eu-west-1", endpoint: api.url });
const ofCluster = (api: RdsApi) => new RdsSource({ cluster: "c1", region: "eu-west-1", endpoint: api.url });
const at = (n: number) => ({ host: `db-${n}.x.eu-west-1.rds.amazonaws.com`, port: 5432 });

/** The first is the source of the others. */
const asInstances = (servers: readonly DiscoveredServer[]): RdsInstance[] =>
  servers.map(({ host, port }, i) => ({
    id: i === 0 ? "db" : `replica-${i}`,
    endpoint: { host, port },
    ...(i > 0 ? { replicaOf: "db" } : {}),
  }));

const bench = (make: (api: RdsApi) => RdsSource, show: (api: RdsApi, servers: readonly DiscoveredServer[]) => void) => async () => {
  const api = await startRdsApi();
  show(api, firstServers);
  return {
    source: make(api),
    set: async (servers: readonly DiscoveredServer[]) => {
      api.mode = "answer";
      show(api, servers);
    },
    fail: async () => {
      api.mode = "throttle";
    },
    silence: async () => {
      api.mode = "silence";
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
};

describeDiscoverySource(
  "RDS instance",
  bench(ofInstance, (api, servers) => {
    api.instances = asInstances(servers);
  }),
);
describeDiscoverySource(
  "RDS cluster",
  bench(ofCluster, (api, servers) => {
    api.instances = servers.map(({ host, port }, i) => ({ id: `m${i}`, endpoint: { host, port }, cluster: "c1" }));
    api.clusters = { c1: api.instances.map(({ id }) => id) };
  }),
);

test("an instance and its read replicas are named, those that serve, whatever else there is", async () => {
  await using api = await startRdsApi();
  api.instances = [
    { id: "db", endpoint: at(0) },
    { id: "r1", endpoint: at(1), replicaOf: "db" },
    { id: "r2", replicaOf: "db", status: "creating" },
    { id: "r3", endpoint: at(3), replicaOf: "db", status: "stopped" },
    { id: "r4", endpoint: at(4), replicaOf: "db", status: "backing-up" },
    { id: "r5", endpoint: at(5), replicaOf: "r1" },
    { id: "other", endpoint: at(6) },
  ];
  expect((await ofInstance(api).lookup(neverAborted)).servers).toEqual([
    { ...at(0), name: "db", role: "primary" },
    { ...at(1), name: "r1", role: "replica" },
    { ...at(4), name: "r4", role: "replica" },
  ]);
  expect(api.asked).toHaveLength(2);
});

test("a cluster's members are named, the writer as primary", async () => {
  await using api = await startRdsApi();
  api.instances = [1, 2, 3].map((n) => ({ id: `m${n}`, endpoint: at(n), cluster: "c1" }));
  api.instances = [...api.instances, { id: "alone", endpoint: at(9) }];
  api.clusters = { c1: ["m2", "m1", "m3"] };
  const { servers } = await ofCluster(api).lookup(neverAborted);
  expect(servers.map(({ name, role }) => [name, role])).toEqual([
    ["m1", "replica"],
    ["m2", "primary"],
    ["m3", "replica"],
  ]);
});

test("answers in several pages are put together", async () => {
  await using api = await startRdsApi();
  api.pageSize = 2;
  api.instances = [{ id: "db", endpoint: at(0) }, ...[1, 2, 3, 4, 5].map((n) => ({ id: `r${n}`, endpoint: at(n), replicaOf: "db" }))];
  expect((await ofInstance(api).lookup(neverAborted)).servers).toHaveLength(6);
});

test("what does not exist, throttling and garbage are failures, one request each: the pace is not the SDK's", async () => {
  await using api = await startRdsApi();
  await expect(ofInstance(api).lookup(neverAborted)).rejects.toThrow();
  await expect(ofCluster(api).lookup(neverAborted)).rejects.toThrow();
  api.mode = "throttle";
  await expect(ofInstance(api).lookup(neverAborted)).rejects.toThrow();
  api.mode = "garbage";
  await expect(ofInstance(api).lookup(neverAborted)).rejects.toThrow();
  expect(api.asked).toHaveLength(4);
});

test("either an instance or a cluster is asked for", () => {
  expect(() => new RdsSource({})).toThrow("instance or of a cluster");
  expect(() => new RdsSource({ instance: "a", cluster: "b" })).toThrow("instance or of a cluster");
});
