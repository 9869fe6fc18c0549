import { expect, test } from "vitest";
import { loadConfig } from "../../../src/config/index.ts";
import { envName, keys } from "../../../src/config/keys.ts";
import { configInput, problemsOf } from "../../support/config-input.ts";

const url = { GITALY_DATABASE_URL: "postgres://u@h/d" };
const prefix = "database.discovery.";
/** The database's part of a configuration whose discovery keys are given without their prefix, as TOML. */
const load = (given: Record<string, string>) => {
  const toml = Object.entries(given).map(([name, value]) => `${prefix}${name} = ${value}`);
  return loadConfig(configInput({ toml: toml.join("\n"), env: url })).database;
};
const problems = (given: Record<string, string>, env: Record<string, string> = url) => {
  const toml = Object.entries(given).map(([name, value]) => `${prefix}${name} = ${value}`);
  return problemsOf(() => loadConfig(configInput({ toml: toml.join("\n"), env })));
};

const dns = { record: '"r.test"' };
const monitor = { source: '"pg_auto_failover"', monitor_url: '"postgres://autoctl_node@m/pg_auto_failover"' };
const patroni = { source: '"patroni"', patroni_endpoints: '["http://p1:8008/", "https://p2:8008"]' };
const rds = { source: '"rds"', rds_instance: '"db"' };

// Each key with a value, what must be given with it, and what it becomes.
const settings: readonly [key: string, toml: string, env: string, beside: Record<string, string>, expected: object][] = [
  ["source", '"dns"', "dns", dns, { source: "dns" }],
  ["record", '"x.test"', "x.test", {}, { source: "dns", record: "x.test" }],
  ["record_type", '"SRV"', "SRV", dns, { recordType: "SRV" }],
  ["nameserver", '"10.0.0.1"', "10.0.0.1", dns, { nameserver: "10.0.0.1" }],
  ["port", "53", "53", dns, { port: 53 }],
  ["use_tcp", "true", "true", dns, { useTcp: true }],
  ["monitor_url", '"postgres://x@m/d"', "postgres://x@m/d", { source: monitor.source }, { monitorUrl: "postgres://x@m/d" }],
  ["monitor_formation", '"f"', "f", monitor, { formation: "f" }],
  ["monitor_group", "2", "2", monitor, { groupId: 2 }],
  ["patroni_endpoints", '["http://a:1"]', "http://a:1", { source: patroni.source }, { endpoints: ["http://a:1"] }],
  ["rds_instance", '"i"', "i", { source: rds.source }, { instance: "i" }],
  ["rds_cluster", '"c"', "c", { source: rds.source }, { cluster: "c" }],
  ["rds_region", '"eu-west-1"', "eu-west-1", rds, { region: "eu-west-1" }],
  ["rds_endpoint", '"http://h:1"', "http://h:1", rds, { endpoint: "http://h:1" }],
  ["interval", '"7s"', "7s", dns, { intervalMs: 7000 }],
  ["retry", '"1s"', "1s", dns, { retryMs: 1000 }],
  ["max_retry", '"2m"', "2m", dns, { maxRetryMs: 120_000 }],
  ["lookup_timeout", '"500ms"', "500ms", dns, { lookupTimeoutMs: 500 }],
  ["max_age", '"10m"', "10m", dns, { maxAgeMs: 600_000 }],
  ["snapshot_max_age", '"1h"', "1h", dns, { snapshotMaxAgeMs: 3_600_000 }],
  ["max_replica_pools", "4", "4", patroni, { maxReplicaPools: 4 }],
  ["min_replicas", "2", "2", rds, { minReplicas: 2 }],
  ["seed_hosts", '["a", "10.0.0.1:5433", "[::1]:1"]', "a,10.0.0.1:5433,[::1]:1", dns, { seedHosts: ["a", "10.0.0.1:5433", "[::1]:1"] }],
];

test.each(settings)("database.discovery.%s = %s is read from the file and from the environment", (name, toml, env, beside, expected) => {
  expect(load({ ...beside, [name]: toml }).discovery).toMatchObject(expected);
  const others = Object.entries(beside).filter(([key]) => key !== name);
  const file = others.map(([key, value]) => `${prefix}${key} = ${value}`).join("\n");
  const { database } = loadConfig(configInput({ toml: file, env: { ...url, [envName(`${prefix}${name}`)]: env } }));
  expect(database.discovery).toMatchObject(expected);
});

test("the table above names every key of discovery", () => {
  const named = [...settings.map(([name]) => `${prefix}${name}`), `${prefix}disconnect_timeout`];
  expect(new Set(named)).toEqual(new Set(Object.keys(keys).filter((key) => key.startsWith(prefix))));
  expect(load({ ...dns, disconnect_timeout: '"3s"' }).balancer.disconnectTimeoutMs).toBe(3000);
});

test("without any of its keys there is no discovery; the interval is the source's own where none is given", () => {
  expect(load({}).discovery).toBeUndefined();
  for (const given of [dns, monitor, patroni, rds]) expect(load(given).discovery).not.toHaveProperty("intervalMs");
  expect(load(patroni).discovery).toMatchObject({ endpoints: ["http://p1:8008", "https://p2:8008"] });
});

test.each<[given: Record<string, string>, message: RegExp]>([
  [{ nameserver: '"ns"' }, /nameserver: needs database\.discovery\.source, or \.record/],
  [{ source: '"dns"' }, /source: needs database\.discovery\.record/],
  [{ source: '"pg_auto_failover"' }, /needs database\.discovery\.monitor_url/],
  [{ source: '"patroni"' }, /needs database\.discovery\.patroni_endpoints/],
  [{ source: '"rds"' }, /rds_instance or \.rds_cluster/],
  [{ ...rds, rds_cluster: '"c"' }, /rds_instance or \.rds_cluster/],
  [{ source: '"consul"' }, /must be "dns" or/],
  [{ ...dns, record_type: '"MX"' }, /must be "A" or/],
  [{ ...dns, max_replica_pools: "0" }, /from 1 to 256/],
  [{ ...dns, interval: '"10ms"' }, /must be from 1s/],
  [{ ...dns, seed_hosts: '["a:b:c"]' }, /must be HOST or HOST:PORT/],
  [{ ...dns, seed_hosts: '["a:70000"]' }, /must be HOST or HOST:PORT/],
  [{ ...dns, seed_hosts: '["postgres://h"]' }, /must be HOST or HOST:PORT/],
  [{ ...monitor, monitor_url: '"http://m"' }, /must be postgres:/],
])("%j is refused", (given, message) => {
  expect(problems(given)).toEqual([expect.stringMatching(message)]);
});

test("discovery without a primary's URL is refused: it says how to reach what is found", () => {
  expect(problems(dns, {})).toEqual([expect.stringMatching(/record: needs database\.url/)]);
});

test("a password in the monitor's URL is not shown", () => {
  expect(problems({ ...monitor, monitor_url: '"postgres://u:geheim@m/d"' })).toEqual([]);
  expect(problems({ ...monitor, monitor_url: '"http://u:geheim@m/d"' }).join()).not.toContain("geheim");
});
