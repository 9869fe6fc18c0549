import { expect, test } from "vitest";
import { checkOptions } from "../../../src/db/check-options.ts";
import { createLoadBalancer } from "../../../src/db/index.ts";
import { defaultLoadBalancerOptions } from "../../../src/db/options.ts";
import { failureOf } from "../../support/failure-of.ts";

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
