import { expect, test } from "vitest";
import { neverAborted, startDeadline, systemClock } from "../../src/base/index.ts";
import { PatroniSource } from "../../src/db/discovery/patroni-source.ts";
import type { DiscoveredServer } from "../../src/db/index.ts";
import { describeDiscoverySource, firstServers } from "../compliance/discovery-source.ts";
import { failureOf } from "../support/failure-of.ts";
import { type PatroniApi, startPatroniApi } from "../support/patroni-api.ts";

const source = (...apis: readonly PatroniApi[]) => new PatroniSource({ endpoints: apis.map(({ url }) => url) }, { clock: systemClock });
const asMembers = (servers: readonly DiscoveredServer[]) =>
  servers.map(({ host, port }, i) => ({ name: `pg${i}`, role: "replica", state: "running", host, port, timeline: 1, lag: 0 }));

describeDiscoverySource("Patroni", async () => {
  const api = await startPatroniApi(asMembers(firstServers));
  return {
    source: source(api),
    set: async (servers: readonly DiscoveredServer[]) => {
      api.members = asMembers(servers);
      api.mode = "answer";
    },
    fail: async () => {
      api.mode = "fail";
    },
    silence: async () => {
      api.mode = "silence";
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
});

test("members that serve are named with their roles, in the words of old and new versions", async () => {
  const member = (name: string, role: string, state: string, more = {}) => ({
    name,
    role,
    state,
    host: `10.0.0.${name}`,
    port: 5432,
    ...more,
  });
  await using api = await startPatroniApi([
    member("1", "leader", "running"),
    member("2", "replica", "running", { lag: "unknown" }),
    member("3", "sync_standby", "streaming"),
    member("4", "replica", "creating replica"),
    member("5", "replica", "stopped"),
    member("6", "replica", "running", { tags: { noloadbalance: true } }),
    member("7", "standby_leader", "in archive recovery"),
    member("8", "what comes next", "running"),
    { name: "9", role: "replica", state: "running" },
    null as never,
  ]);
  expect((await source(api).lookup(neverAborted)).servers).toEqual([
    { host: "10.0.0.1", port: 5432, name: "1", role: "primary" },
    { host: "10.0.0.2", port: 5432, name: "2", role: "replica" },
    { host: "10.0.0.3", port: 5432, name: "3", role: "replica" },
    { host: "10.0.0.7", port: 5432, name: "7", role: "replica" },
    { host: "10.0.0.8", port: 5432, name: "8" },
  ]);
  // Some of its paths answer HEAD and OPTIONS with 503, whatever the state.
  expect(api.asked).toEqual(["GET /cluster"]);
});

test("an endpoint that is down, lost or silent is passed over, and the one that answered is asked first from then on", async () => {
  const down = await startPatroniApi();
  await down[Symbol.asyncDispose]();
  await using lost = await startPatroniApi();
  await using silent = await startPatroniApi();
  await using good = await startPatroniApi(asMembers(firstServers));
  lost.mode = "fail";
  silent.mode = "silence";
  const tested = source(down, lost, silent, good);
  expect((await tested.lookup(neverAborted)).servers).toHaveLength(3);
  expect((await tested.lookup(neverAborted)).servers).toHaveLength(3);
  expect([lost.asked.length, silent.asked.length, good.asked.length]).toEqual([1, 1, 2]);
});

test("what is not an answer is a failure: other texts, endless ones, a store of configuration that is away", async () => {
  await using api = await startPatroniApi();
  for (const mode of ["garbage", "flood", "fail"] as const) {
    api.mode = mode;
    expect((await failureOf(source(api).lookup(neverAborted))).code).toBe("node_unavailable");
  }
  api.mode = "silence";
  using deadline = startDeadline(systemClock, 50);
  expect((await failureOf(source(api).lookup(deadline.signal))).code).toBe("deadline_exceeded");
});

test("endpoints that are no URLs are refused", () => {
  const make = (...endpoints: string[]) => new PatroniSource({ endpoints }, { clock: systemClock });
  expect(() => make()).toThrow("one endpoint");
  expect(() => make("db1:8008")).toThrow("http://HOST:PORT");
});
