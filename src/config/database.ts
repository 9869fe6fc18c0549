import type { Config } from "./config.ts";
import { discoveryOptions } from "./discovery.ts";
import type { KeyName, Values } from "./keys.ts";

type ValueOf = <K extends KeyName>(key: K) => Values[K];

/** The part of the configuration that is about the database. The values have been checked together. */
export function databaseConfig(value: ValueOf): Config["database"] {
  return {
    url: value("database.url"),
    replicas: value("database.replicas"),
    discovery: discoveryOptions(value),
    balancer: {
      ...connectionOptions(value),
      ...replicaOptions(value),
      overload: overloadOptions(value),
      sticking: {
        expirationMs: value("database.sticking.expiration"),
        storeTimeoutMs: value("database.sticking.store_timeout"),
        onStoreFailure: value("database.sticking.on_store_failure"),
        replicaPositionTimeoutMs: value("database.sticking.replica_position_timeout"),
        primaryPositionTimeoutMs: value("database.sticking.primary_position_timeout"),
      },
      switches: {
        replicaReads: value("database.switches.replica_reads"),
        useNewLoadBalancerQuery: value("database.switches.use_new_load_balancer_query"),
        ignoreReplicationLagTime: value("database.switches.ignore_replication_lag_time"),
        doubleReplicationLagTime: value("database.switches.double_replication_lag_time"),
        atomicSticking: value("database.switches.atomic_sticking"),
      },
    },
    sticking: {
      store: value("database.sticking.store"),
      redisUrl: value("database.sticking.redis_url"),
      secrets: value("database.sticking.secret"),
    },
    fleetWide: value("database.overload.fleet_wide"),
    roleEndpoints: {
      maxCheckAgeMs: value("database.role_endpoints.max_check_age"),
      maxDiscoveryAgeMs: value("database.role_endpoints.max_discovery_age") ?? Number.POSITIVE_INFINITY,
    },
  };
}

function connectionOptions(value: ValueOf) {
  return {
    poolSize: value("database.pool_size"),
    connectTimeoutMs: value("database.connect_timeout"),
    statementTimeoutMs: value("database.statement_timeout"),
    idleTimeoutMs: value("database.idle_timeout"),
    maxLifetimeMs: value("database.max_lifetime"),
    applicationName: value("database.application_name"),
    readOnlyReplicas: value("database.read_only_replicas"),
    maxOutstandingPerReplica: value("database.max_outstanding_per_replica"),
    maxQueuedPerServer: value("database.max_queued_per_server"),
    prepareAfter: value("database.prepare_after"),
    maxPrepared: value("database.max_prepared"),
    disconnectTimeoutMs: value("database.discovery.disconnect_timeout"),
    primaryAttempts: value("database.primary_attempts"),
    primaryBackoffMs: value("database.primary_backoff"),
    primaryDeadlineMs: value("database.primary_deadline"),
  };
}

function replicaOptions(value: ValueOf) {
  return {
    replicaChoice: value("database.replica_choice"),
    replicaCheckIntervalMs: value("database.replica_check_interval"),
    probeTimeoutMs: value("database.probe_timeout"),
    maxReplicationLagTimeMs: value("database.max_replication_lag_time"),
    maxReplicationDifferenceBytes: value("database.max_replication_difference"),
    checksDown: value("database.checks_down"),
    checksUp: value("database.checks_up"),
    slowStartMs: value("database.slow_start"),
    outlierFactor: value("database.outlier_factor"),
    outlierMinMs: value("database.outlier_min"),
    outlierEjectionMs: value("database.outlier_ejection"),
  };
}

function overloadOptions(value: ValueOf) {
  return {
    fallbackShare: value("database.overload.fallback_share"),
    fallbackMinPerSecond: value("database.overload.fallback_min_per_second"),
    fallbackMaxPerSecond: value("database.overload.fallback_max_per_second") ?? Number.POSITIVE_INFINITY,
    fallbackBurst: value("database.overload.fallback_burst"),
    fallbackSlotShare: value("database.overload.fallback_slot_share"),
    fallbackWaitMs: value("database.overload.fallback_wait"),
    writeSlotShare: value("database.overload.write_slot_share"),
    maxQueuedReads: value("database.overload.max_queued_reads"),
    adaptive: value("database.overload.adaptive"),
    retryShare: value("database.overload.retry_share"),
    minRetries: value("database.overload.min_retries"),
  };
}
