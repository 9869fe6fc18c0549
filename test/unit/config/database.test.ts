import { expect, test } from "vitest";
import { loadConfig, showConfig } from "../../../src/config/index.ts";
import { envName, keys } from "../../../src/config/keys.ts";
import { defaultLoadBalancerOptions } from "../../../src/db/index.ts";
import { configInput, problemsOf } from "../../support/config-input.ts";

const load = (toml: string, env: Record<string, string> = {}) => loadConfig(configInput({ toml, env })).database;
const secret = "sixteen bytes or more";

// Each key with a value as the file and the environment have it, and what it becomes.
const settings: readonly [key: string, toml: string, env: string, expected: object][] = [
  ["pool_size", "4", "4", { poolSize: 4 }],
  ["connect_timeout", '"1s"', "1s", { connectTimeoutMs: 1000 }],
  ["statement_timeout", '"5s"', "5s", { statementTimeoutMs: 5000 }],
  ["idle_timeout", '"3s"', "3s", { idleTimeoutMs: 3000 }],
  ["max_lifetime", '"1h"', "1h", { maxLifetimeMs: 3_600_000 }],
  ["application_name", '"git"', "git", { applicationName: "git" }],
  ["read_only_replicas", "false", "0", { readOnlyReplicas: false }],
  ["replica_choice", '"random"', "random", { replicaChoice: "random" }],
  ["max_outstanding_per_replica", "7", "7", { maxOutstandingPerReplica: 7 }],
  ["max_queued_per_server", "8", "8", { maxQueuedPerServer: 8 }],
  ["prepare_after", "5", "5", { prepareAfter: 5 }],
  ["max_prepared", "9", "9", { maxPrepared: 9 }],
  ["replica_check_interval", '"500ms"', "500ms", { replicaCheckIntervalMs: 500 }],
  ["probe_timeout", '"1s"', "1s", { probeTimeoutMs: 1000 }],
  ["max_replication_lag_time", '"90s"', "90s", { maxReplicationLagTimeMs: 90_000 }],
  ["max_replication_difference", '"1MiB"', "1MiB", { maxReplicationDifferenceBytes: 2 ** 20 }],
  ["max_replication_difference", "8388609", "8388609", { maxReplicationDifferenceBytes: 8_388_609 }],
  ["checks_down", "3", "3", { checksDown: 3 }],
  ["checks_up", "4", "4", { checksUp: 4 }],
  ["slow_start", '"0s"', "0s", { slowStartMs: 0 }],
  ["outlier_factor", "0", "0", { outlierFactor: 0 }],
  ["outlier_min", '"50ms"', "50ms", { outlierMinMs: 50 }],
  ["outlier_ejection", '"1m"', "1m", { outlierEjectionMs: 60_000 }],
  ["primary_attempts", "2", "2", { primaryAttempts: 2 }],
  ["primary_backoff", '"1s"', "1s", { primaryBackoffMs: 1000 }],
  ["primary_deadline", '"9s"', "9s", { primaryDeadlineMs: 9000 }],
  ["discovery.disconnect_timeout", '"3s"', "3s", { disconnectTimeoutMs: 3000 }],
  ["overload.fallback_share", "0.5", "0.5", { overload: { fallbackShare: 0.5 } }],
  ["overload.fallback_min_per_second", "0", "0", { overload: { fallbackMinPerSecond: 0 } }],
  ["overload.fallback_max_per_second", "200", "200", { overload: { fallbackMaxPerSecond: 200 } }],
  ["overload.fallback_burst", "1", "1", { overload: { fallbackBurst: 1 } }],
  ["overload.fallback_slot_share", "1", "1", { overload: { fallbackSlotShare: 1 } }],
  ["overload.fallback_wait", '"1s"', "1s", { overload: { fallbackWaitMs: 1000 } }],
  ["overload.write_slot_share", "0.3", "0.3", { overload: { writeSlotShare: 0.3 } }],
  ["overload.max_queued_reads", "9", "9", { overload: { maxQueuedReads: 9 } }],
  ["overload.adaptive", "false", "false", { overload: { adaptive: false } }],
  ["overload.retry_share", "0.2", "0.2", { overload: { retryShare: 0.2 } }],
  ["overload.min_retries", "5", "5", { overload: { minRetries: 5 } }],
  ["sticking.expiration", '"1m"', "1m", { sticking: { expirationMs: 60_000 } }],
  ["sticking.store_timeout", '"20ms"', "20ms", { sticking: { storeTimeoutMs: 20 } }],
  ["sticking.on_store_failure", '"ignore"', "ignore", { sticking: { onStoreFailure: "ignore" } }],
  ["sticking.replica_position_timeout", '"200ms"', "200ms", { sticking: { replicaPositionTimeoutMs: 200 } }],
  ["sticking.primary_position_timeout", '"2s"', "2s", { sticking: { primaryPositionTimeoutMs: 2000 } }],
  ["switches.replica_reads", "false", "false", { switches: { replicaReads: false } }],
  ["switches.use_new_load_balancer_query", "false", "false", { switches: { useNewLoadBalancerQuery: false } }],
  ["switches.ignore_replication_lag_time", "true", "true", { switches: { ignoreReplicationLagTime: true } }],
  ["switches.double_replication_lag_time", "true", "true", { switches: { doubleReplicationLagTime: true } }],
  ["switches.atomic_sticking", "false", "false", { switches: { atomicSticking: false } }],
];

// Those that are not the load balancer's own options.
const others: readonly [key: string, toml: string, env: string, beside: string, expected: object][] = [
  ["overload.fleet_wide", "true", "true", "", { fleetWide: true }],
  ["sticking.store", '"memory"', "memory", "", { sticking: { store: "memory" } }],
  ["sticking.store", '"token"', "token", "", { sticking: { store: "token", secrets: undefined } }],
  [
    "sticking.redis_url",
    '"rediss://u:p@h/0"',
    "rediss://u:p@h/0",
    'sticking.store = "redis"',
    { sticking: { redisUrl: "rediss://u:p@h/0" } },
  ],
  ["sticking.secret", `"${secret}"`, secret, 'sticking.store = "token"', { sticking: { secrets: [secret] } }],
  [
    "sticking.secret",
    `["${secret}", "${secret} 2"]`,
    `${secret},${secret} 2`,
    'sticking.store = "token"',
    { sticking: { secrets: [secret, `${secret} 2`] } },
  ],
  ["role_endpoints.max_check_age", '"5s"', "5s", "", { roleEndpoints: { maxCheckAgeMs: 5000 } }],
  ["role_endpoints.max_discovery_age", '"1m"', "1m", "", { roleEndpoints: { maxDiscoveryAgeMs: 60_000 } }],
];

const all = [...settings.map(([key, toml, env, balancer]) => [key, toml, env, "", { balancer }] as const), ...others];

test.each(all)("database.%s = %s is read from the file and from the environment", (key, toml, env, beside, expected) => {
  const more = beside === "" ? "" : `database.${beside}\n`;
  // Discovery's keys are refused without discovery.
  const place = key.startsWith("discovery.") ? 'database.url = "postgres://h/d"\ndatabase.discovery.record = "r.test"\n' : "";
  expect(load(`${place}${more}database.${key} = ${toml}`)).toMatchObject(expected);
  expect(load(`${place}${more}`, { [envName(`database.${key}`)]: env })).toMatchObject(expected);
});

test("the tables above name every key of the database but where its servers are", () => {
  const named = Object.keys(keys).filter((key) => /^database\.(?!url$|replicas$|discovery\.)/.test(key));
  expect(new Set(all.map(([key]) => `database.${key}`))).toEqual(new Set([...named, "database.discovery.disconnect_timeout"]));
});

/** Paths of an object's leaves. */
function leaves(value: object, path = ""): string[] {
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner) ? leaves(inner, `${path}${name}.`) : [`${path}${name}`],
  );
}

test("whatever the load balancer can be told can be set, with the same defaults, but for what its code or the node decides", () => {
  const { balancer } = load("");
  const decided = [
    ...["name", "replicas", "processRole", "overload.sharedBy", "sticking.audience"],
    ...["pureFunctions", "cacheEntries", "cacheChars", "maxCachedChars", "maxParsedChars"],
    // They have their place in the switches.
    ...["useNewLoadBalancerQuery", "ignoreReplicationLagTime", "doubleReplicationLagTime", "switches"],
  ];
  const wanted = leaves(defaultLoadBalancerOptions).filter((path) => !decided.includes(path));
  expect(new Set(leaves(balancer).filter((path) => !path.startsWith("switches.")))).toEqual(new Set(wanted));
  const { switches: _switches, ...options } = balancer;
  expect(defaultLoadBalancerOptions).toMatchObject(options);
});

test.each<[toml: string, message: RegExp]>([
  ['sticking.secret = "sixteen bytes or more"', /secret: needs database\.sticking\.store = "token"/],
  ['sticking = { store = "token", secret = "too short" }', /secret: entry 1 must have 16 bytes or more/],
  ['sticking = { store = "token", secret = [] }', /secret: must not be empty/],
  ['sticking = { store = "token", secret = 5 }', /secret: must be a list of strings/],
  ['sticking.store = "redis"', /needs database\.sticking\.redis_url/],
  ["overload.fallback_share = 1.5", /must be a number from 0 to 1, not 1\.5/],
  ["overload.fallback_min_per_second = -1", /must be a number from 0, not -1/],
  ['max_replication_difference = "8 apples"', /must be a number of bytes/],
  ["max_replication_lag_time = 60", /must be a duration with its unit/],
  ['replica_check_interval = "1ms"', /must be from 0\.1s/],
  ['replica_choice = "first"', /must be "least_outstanding" or "random"/],
])("database.%s is refused", (toml, message) => {
  const problems = problemsOf(() => load(`[database]\n${toml}`));
  expect(problems).toEqual([expect.stringMatching(message)]);
  expect(problems.join()).not.toContain("too short");
});

test("of a secret nothing is shown but that it is there", () => {
  const toml = `[database.sticking]\nstore = "token"\nsecret = "${secret}"`;
  const shown = showConfig(configInput({ toml }));
  expect(shown.toml).toContain('secret = "***"  # gitaly.toml:3');
  expect(JSON.stringify(shown.settings, (_, value) => (typeof value === "bigint" ? String(value) : value))).not.toContain(secret);
});
