import { CodedError } from "../base/index.ts";
import { type DiscoveryOptions, defaultListOptions, type ListOptions } from "./discovery/discovery-options.ts";
import { defaultDnsSourceOptions } from "./discovery/dns/dns-source.ts";
import type { PatroniSourceOptions } from "./discovery/patroni-source.ts";
import { defaultPgAutoFailoverSourceOptions } from "./discovery/pg-auto-failover-source.ts";
import type { RdsSourceOptions } from "./discovery/rds-source.ts";
import { defaultLoadBalancerOptions, type LoadBalancerOptions } from "./options.ts";
import { defaultSwitches, Switches } from "./switches.ts";

type NumberKeys<T> = { [K in keyof T]-?: T[K] extends number ? K : never }[keyof T];

/** What a number may be. */
interface Rule {
  readonly least: number;
  readonly most?: number;
  readonly whole?: true;
}

// Of a longer time the platform's timers, and the driver's, make none at all.
const longestMs = 1_000_000_000;
const wait: Rule = { least: 1, most: longestMs };
const waitOrNone: Rule = { least: 0, most: longestMs };
const atLeastOne: Rule = { least: 1, most: 1_000_000, whole: true };
const count: Rule = { least: 0, whole: true };
const amount: Rule = { least: 0 };
const share: Rule = { least: 0, most: 1 };

const rules: Readonly<Record<NumberKeys<LoadBalancerOptions>, Rule>> = {
  poolSize: atLeastOne,
  connectTimeoutMs: wait,
  statementTimeoutMs: wait,
  idleTimeoutMs: wait,
  maxLifetimeMs: wait,
  maxOutstandingPerReplica: atLeastOne,
  maxQueuedPerServer: amount,
  prepareAfter: count,
  maxPrepared: atLeastOne,
  replicaCheckIntervalMs: wait,
  probeTimeoutMs: wait,
  disconnectTimeoutMs: waitOrNone,
  maxReplicationLagTimeMs: amount,
  maxReplicationDifferenceBytes: amount,
  checksDown: atLeastOne,
  checksUp: atLeastOne,
  slowStartMs: amount,
  outlierFactor: amount,
  outlierMinMs: amount,
  outlierEjectionMs: amount,
  primaryAttempts: atLeastOne,
  primaryBackoffMs: waitOrNone,
  primaryDeadlineMs: wait,
  cacheEntries: count,
  cacheChars: count,
  maxCachedChars: amount,
  maxParsedChars: amount,
};

const overloadRules: Readonly<Record<NumberKeys<LoadBalancerOptions["overload"]>, Rule>> = {
  fallbackShare: share,
  fallbackMinPerSecond: amount,
  fallbackMaxPerSecond: amount,
  fallbackBurst: amount,
  fallbackSlotShare: share,
  fallbackWaitMs: waitOrNone,
  writeSlotShare: share,
  maxQueuedReads: amount,
  retryShare: amount,
  minRetries: amount,
};

const stickingRules: Readonly<Record<NumberKeys<LoadBalancerOptions["sticking"]>, Rule>> = {
  expirationMs: wait,
  storeTimeoutMs: wait,
  replicaPositionTimeoutMs: wait,
  primaryPositionTimeoutMs: wait,
};

const discoveryRules: Readonly<Record<NumberKeys<ListOptions>, Rule>> = {
  intervalMs: wait,
  retryMs: wait,
  maxRetryMs: wait,
  lookupTimeoutMs: wait,
  minReplicas: count,
  maxReplicaPools: atLeastOne,
  snapshotMaxAgeMs: amount,
};

type OptionalKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T];

/** What may be given beside that which has a default. */
const furtherKeys: Readonly<Record<OptionalKeys<LoadBalancerOptions> | "primary", true>> = { primary: true, discovery: true };
const furtherStickingKeys: Readonly<Record<OptionalKeys<LoadBalancerOptions["sticking"]>, true>> = { store: true, secret: true };
const patroniKeys: Readonly<Record<keyof PatroniSourceOptions, true>> = { endpoints: true };
const rdsKeys: Readonly<Record<keyof RdsSourceOptions, true>> = { instance: true, cluster: true, region: true, endpoint: true };

const sourceKeys = {
  dns: { ...defaultDnsSourceOptions, record: true },
  pg_auto_failover: { ...defaultPgAutoFailoverSourceOptions, monitorUrl: true },
  patroni: patroniKeys,
  rds: rdsKeys,
};

/**
 * Refuses numbers with which a wait would have no end or be none, or a check never come, and what is no option: most likely it is the
 * name of one that was mistyped. Errors: `bad_config`, with the option's `key`.
 */
export function checkOptions(options: LoadBalancerOptions): void {
  checkNames("", options, { ...defaultLoadBalancerOptions, ...furtherKeys });
  checkNames("overload.", options.overload, defaultLoadBalancerOptions.overload);
  checkNames("sticking.", options.sticking, { ...defaultLoadBalancerOptions.sticking, ...furtherStickingKeys });
  if (!(options.switches instanceof Switches)) checkNames("switches.", options.switches, defaultSwitches);
  check("", options, rules);
  check("overload.", options.overload, overloadRules);
  check("sticking.", options.sticking, stickingRules);
}

/** The same for the options of discovery: those that were given, and all of them with their defaults. */
export function checkDiscovery(given: DiscoveryOptions, options: ListOptions): void {
  const ofSource = typeof given.source === "object" ? {} : sourceKeys[given.source ?? "dns"];
  checkNames("discovery.", given, { ...defaultListOptions, ...ofSource, source: true });
  check("discovery.", options, discoveryRules);
  if (options.maxAgeMs !== undefined) check("discovery.", { maxAgeMs: options.maxAgeMs }, { maxAgeMs: wait });
}

function checkNames(prefix: string, given: object, known: object): void {
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(known, key));
  if (unknown !== undefined) throw new CodedError("bad_config", "there is no such option", { key: `${prefix}${unknown}` });
}

function check<K extends string>(prefix: string, values: Readonly<Record<K, number>>, rulesOf: Readonly<Record<K, Rule>>): void {
  for (const key of Object.keys(rulesOf) as K[]) {
    const { least, most = Number.POSITIVE_INFINITY, whole } = rulesOf[key];
    const value: unknown = values[key];
    if (typeof value === "number" && value >= least && value <= most && (!whole || Number.isInteger(value))) continue;
    throw new CodedError("bad_config", whole ? "not a whole number within the limits" : "not a number within the limits", {
      key: `${prefix}${key}`,
      value,
      least,
      most,
    });
  }
}
