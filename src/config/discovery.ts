import type { DiscoveryOptions } from "../db/index.ts";
import { type KeyName, keys, type Values } from "./keys.ts";

type ValueOf = <K extends KeyName>(key: K) => Values[K];

/** How more database servers are found; undefined where they are not. The values have been checked together. */
export function discoveryOptions(value: ValueOf): DiscoveryOptions | undefined {
  const interval = value("database.discovery.interval");
  const list = {
    ...(interval === undefined ? {} : { intervalMs: interval }),
    retryMs: value("database.discovery.retry"),
    maxRetryMs: value("database.discovery.max_retry"),
    lookupTimeoutMs: value("database.discovery.lookup_timeout"),
    maxAgeMs: value("database.discovery.max_age"),
    snapshotMaxAgeMs: value("database.discovery.snapshot_max_age"),
    maxReplicaPools: value("database.discovery.max_replica_pools"),
    minReplicas: value("database.discovery.min_replicas"),
    seedHosts: value("database.discovery.seed_hosts"),
  };
  switch (sourceOf(value)) {
    case "dns":
      return {
        ...list,
        source: "dns",
        record: value("database.discovery.record") ?? "",
        recordType: value("database.discovery.record_type"),
        nameserver: value("database.discovery.nameserver"),
        port: value("database.discovery.port"),
        useTcp: value("database.discovery.use_tcp"),
      };
    case "pg_auto_failover":
      return {
        ...list,
        source: "pg_auto_failover",
        monitorUrl: value("database.discovery.monitor_url") ?? "",
        formation: value("database.discovery.monitor_formation"),
        groupId: value("database.discovery.monitor_group"),
      };
    case "patroni":
      return { ...list, source: "patroni", endpoints: value("database.discovery.patroni_endpoints") };
    case "rds":
      return { ...list, source: "rds", ...rds(value) };
    default:
      return undefined;
  }
}

function sourceOf(value: ValueOf): Values["database.discovery.source"] {
  return value("database.discovery.source") ?? (value("database.discovery.record") === undefined ? undefined : "dns");
}

function rds(value: ValueOf) {
  const [instance, cluster] = [value("database.discovery.rds_instance"), value("database.discovery.rds_cluster")];
  const [region, endpoint] = [value("database.discovery.rds_region"), value("database.discovery.rds_endpoint")];
  return {
    ...(instance === undefined ? {} : { instance }),
    ...(cluster === undefined ? {} : { cluster }),
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
  };
}

/** What is missing, or has no effect, among the keys of discovery. `isGiven`: the key does not have its default. */
export function* discoveryProblems(value: ValueOf, isGiven: (key: KeyName) => boolean): Generator<{ key: KeyName; message: string }> {
  const source = sourceOf(value);
  const given = (Object.keys(keys) as KeyName[]).filter((key) => key.startsWith("database.discovery.") && isGiven(key));
  const [first] = given;
  if (first === undefined) return;
  if (source === undefined) {
    yield { key: first, message: "needs database.discovery.source, or .record for DNS" };
    return;
  }
  if (value("database.url") === undefined) yield { key: first, message: "needs database.url, which says how to reach what is found" };
  if (source === "dns" && value("database.discovery.record") === undefined) {
    yield { key: "database.discovery.source", message: "needs database.discovery.record, the name to ask for" };
  }
  if (source === "pg_auto_failover" && value("database.discovery.monitor_url") === undefined) {
    yield { key: "database.discovery.source", message: "needs database.discovery.monitor_url" };
  }
  if (source === "patroni" && value("database.discovery.patroni_endpoints").length === 0) {
    yield { key: "database.discovery.source", message: "needs database.discovery.patroni_endpoints" };
  }
  const both = [value("database.discovery.rds_instance"), value("database.discovery.rds_cluster")].filter((one) => one !== undefined);
  if (source === "rds" && both.length !== 1) {
    yield { key: "database.discovery.source", message: "needs database.discovery.rds_instance or .rds_cluster, one of them" };
  }
}
