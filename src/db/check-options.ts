import { CodedError } from "../base/index.ts";
import type { ListOptions } from "./discovery/discovery-options.ts";
import type { LoadBalancerOptions } from "./options.ts";

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

/** Refuses numbers with which a wait would have no end or be none, or a check never come. Errors: `bad_config`, with the option's `key`. */
export function checkOptions(options: LoadBalancerOptions): void {
  check("", options, rules);
  check("overload.", options.overload, overloadRules);
  check("sticking.", options.sticking, stickingRules);
}

/** The same for the options of discovery. */
export function checkDiscovery(options: ListOptions): void {
  check("discovery.", options, discoveryRules);
  if (options.maxAgeMs !== undefined) check("discovery.", { maxAgeMs: options.maxAgeMs }, { maxAgeMs: wait });
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
