import { expect, test } from "vitest";
import { checkDiscovery, checkOptions } from "../../../src/db/check-options.ts";
import { defaultListOptions } from "../../../src/db/discovery/discovery-options.ts";
import { createLoadBalancer, createLoadBalancers, type DiscoveryOptions, Switches } from "../../../src/db/index.ts";
import { defaultLoadBalancerOptions } from "../../../src/db/options.ts";
import { MemoryStickingStore } from "../../../src/db/sticking/memory-sticking-store.ts";
import { failureOf } from "../../support/failure-of.ts";
import { SimClock } from "../../support/sim-clock.ts";

const primary = "postgres://u@127.0.0.1:1/x";
const defaults = { ...defaultLoadBalancerOptions, primary };

test("the defaults are fine, and so is what turns a limit off", () => {
  expect(() => checkOptions(defaults)).not.toThrow();
  const off = { maxReplicationLagTimeMs: Number.POSITIVE_INFINITY, outlierFactor: 0, slowStartMs: 0, disconnectTimeoutMs: 0 };
  const overload = { ...defaults.overload, fallbackShare: 1, fallbackSlotShare: 1, fallbackMaxPerSecond: 0, fallbackBurst: 0 };
  expect(() => checkOptions({ ...defaults, ...off, overload })).not.toThrow();
});

// Report: pgdog 1116, where a set-up that could never find out roles was accepted and every write timed out.
test.each([
  ["replicaCheckIntervalMs", 0],
  ["replicaCheckIntervalMs", Number.NaN],
  ["replicaCheckIntervalMs", Number.POSITIVE_INFINITY],
  ["replicaCheckIntervalMs", 2 ** 31],
  ["probeTimeoutMs", 0],
  ["probeTimeoutMs", -1],
  ["connectTimeoutMs", 0],
  ["statementTimeoutMs", 2 ** 31],
  ["poolSize", 0],
  ["poolSize", 2.5],
  ["poolSize", "10"],
  ["checksUp", Number.NaN],
  ["primaryAttempts", 0],
  ["maxReplicationLagTimeMs", undefined],
  ["maxReplicationDifferenceBytes", -1],
])("%s must not be %s", async (key, value) => {
  const wrong = { primary, [key]: value } as Parameters<typeof createLoadBalancer>[0];
  expect(await failureOf(createLoadBalancer(wrong))).toMatchObject({ code: "bad_config", fields: { key } });
});

test.each([
  ["overload", "fallbackShare", 20],
  ["overload", "writeSlotShare", -0.1],
  ["overload", "fallbackBurst", Number.NaN],
  ["sticking", "storeTimeoutMs", 0],
  ["sticking", "expirationMs", 2 ** 31],
])("%s.%s must not be %s", async (part, key, value) => {
  const wrong = { primary, [part]: { [key]: value } } as Parameters<typeof createLoadBalancer>[0];
  expect(await failureOf(createLoadBalancer(wrong))).toMatchObject({ code: "bad_config", fields: { key: `${part}.${key}` } });
});

test.each([
  ["record", {}],
  ["monitorUrl", { source: "pg_auto_failover" }],
  ["endpoints", { source: "patroni" }],
  ["instance", { source: "rds" }],
])("discovery without its %s is refused by that name", async (key, discovery) => {
  const wrong = { primary, discovery } as unknown as Parameters<typeof createLoadBalancer>[0];
  expect(await failureOf(createLoadBalancer(wrong))).toMatchObject({ code: "bad_config", fields: { key: `discovery.${key}` } });
});

// A name mistyped would leave its default in force, and nobody would know.
test.each([
  ["replica", { replica: ["db2"] }],
  ["overload.fallbackshare", { overload: { fallbackshare: 1 } }],
  ["sticking.expiration", { sticking: { expiration: 1000 } }],
  ["switches.replicaRead", { switches: { replicaRead: false } }],
  ["discovery.recordtype", { discovery: { record: "db.example", recordtype: "SRV" } }],
  ["discovery.endpoints", { discovery: { record: "db.example", endpoints: ["http://db1:8008"] } }],
  ["discovery.formations", { discovery: { source: "pg_auto_failover", monitorUrl: "postgres://u@m/x", formations: "a" } }],
  ["discovery.interval", { discovery: { source: { name: "own", lookup: async () => ({ servers: [] }) }, interval: 1 } }],
])("%s is refused: there is no such option", async (key, given) => {
  const wrong = { primary, ...given } as unknown as Parameters<typeof createLoadBalancer>[0];
  const unknown = { code: "bad_config", message: "there is no such option", fields: { key } };
  expect(await failureOf(createLoadBalancer(wrong))).toMatchObject(unknown);
  expect(await failureOf(createLoadBalancers({ main: wrong }))).toMatchObject(unknown);
});

test("every option that there is may be given", () => {
  const store = new MemoryStickingStore({ expirationMs: 1000 }, { clock: new SimClock() });
  const sticking = { ...defaults.sticking, store, secret: "a secret of 16 bytes or more" };
  const discovery: DiscoveryOptions = { record: "db.example", seedHosts: ["db1"], snapshotFile: "/tmp/x", maxAgeMs: 1000 };
  const switches = new Switches({ replicaReads: false }, "web");
  expect(() => checkOptions({ ...defaults, sticking, discovery, switches })).not.toThrow();
  const others: DiscoveryOptions[] = [
    { source: "dns", record: "db.example", recordType: "SRV", nameserver: "localhost", port: 53, useTcp: true },
    { source: "pg_auto_failover", monitorUrl: "postgres://u@m/x", formation: "a", groupId: 1 },
    { source: "patroni", endpoints: ["http://db1:8008"] },
    { source: "rds", instance: "a", region: "b", endpoint: "http://c" },
    { source: "rds", cluster: "a" },
  ];
  for (const given of [discovery, ...others]) expect(() => checkDiscovery(given, { ...defaultListOptions, maxAgeMs: 1 })).not.toThrow();
});

test.each(["sslmode=verify-full&sslrootcert=/nowhere/ca.crt", "sslcert=/nowhere/own.crt", "uselibpqcompat=true&sslmode=verify-ca"])(
  "a URL with %s, which the driver cannot use, is refused at once, without its password",
  async (settings) => {
    const error = await failureOf(createLoadBalancer({ primary: `postgres://user:s3cret@127.0.0.1:9/app?${settings}` }));
    expect(error).toMatchObject({ code: "bad_config", fields: { server: "127.0.0.1:9" } });
    expect(JSON.stringify([error.message, error.fields])).not.toContain("s3cret");
  },
);
