import { resolve } from "node:path";
import { gossipPresets } from "../gossip/index.ts";
import { formatHostPort, type HostPort, isLoopback } from "./addresses.ts";
import type { Config, ListenAddress } from "./config.ts";
import { databaseConfig } from "./database.ts";
import { discoveryProblems } from "./discovery.ts";
import { type KeyName, keys, type Values } from "./keys.ts";
import { type ConfigInput, type Merged, mergeSources, sources } from "./merge.ts";
import { tlsJoinSentence } from "./not-built.ts";
import { configError, type Problem } from "./problems.ts";

/** The configuration, and what it was given without effect. */
export interface LoadedConfig extends Config {
  /** Keys of Gitaly's and environment names that have no effect here; worth a warning at start. */
  readonly ignored: readonly string[];
}

/**
 * Merges file, environment and flags (the later ones win) into one frozen value.
 *
 * Errors: `bad_config` or `not_built_yet`, with every problem of every source in the field `problems`.
 */
export function loadConfig(input: ConfigInput): LoadedConfig {
  const merged = mergeSources(input);
  const config = merged.problems.length === 0 ? build(merged, input.cwd) : undefined;
  const problems = [...merged.problems, ...checkTogether(merged)];
  if (!config || problems.length > 0) throw configError(problems);
  return deepFreeze(config);
}

function build(merged: Merged, cwd: string): LoadedConfig {
  const value = <K extends KeyName>(key: K) => merged.settings.get(key)?.value as Values[K];
  const path = (key: "data_dir" | "ready_file" | "cache.dir" | "logging.dir") => {
    const given = value(key);
    return given === undefined ? undefined : resolve(cwd, given);
  };
  const prometheus = value("prometheus_listen_addr");
  return {
    nodeName: value("node_name"),
    dataDir: path("data_dir"),
    grpc: { ...value("listen_addr"), explicit: isExplicit(merged, "listen_addr") },
    http: { ...value("http_addr"), explicit: isExplicit(merged, "http_addr") },
    gossip: gossipAddress(merged),
    prometheus: prometheus && { ...prometheus, explicit: true },
    advertiseHost: value("advertise_host"),
    advertiseHttp: value("advertise_http"),
    joinAddrs: [...new Map(value("cluster.join_addrs").map((peer) => [`${peer.scheme}://${formatHostPort(peer)}`, peer])).values()],
    readyFile: path("ready_file"),
    insecure: value("insecure"),
    cluster: {
      replicas: value("cluster.replicas"),
      weight: value("cluster.weight"),
      zone: value("cluster.zone") ?? "",
      hashSeed: value("cluster.hash_seed"),
      label: value("cluster.label") ?? "",
      encryptionKeys: value("cluster.encryption_keys"),
      encryption: value("cluster.encryption"),
      requireId: value("cluster.require_id"),
      gossipPreset: value("cluster.gossip_preset"),
      suspicionMultiplier: value("cluster.suspicion_multiplier"),
      suspicionMaxMultiplier: value("cluster.suspicion_max_multiplier"),
      probeIntervalMs: value("cluster.probe_interval"),
      probeTimeoutMs: value("cluster.probe_timeout"),
    },
    objectStorage: { url: value("object_storage.url") },
    database: databaseConfig(value),
    catalog: { reconcileIntervalMs: value("catalog.reconcile_interval") },
    cache: { dir: path("cache.dir"), maxBytes: value("cache.max_bytes"), minFreeBytes: value("cache.min_free_bytes") },
    git: { binPath: value("git.bin_path") },
    routing: { unawareClients: value("routing.unaware_clients"), http: value("routing.http") },
    logging: { level: value("logging.level"), dir: path("logging.dir") },
    drainLingerMs: value("drain_linger"),
    gracefulRestartTimeoutMs: value("graceful_restart_timeout"),
    ignored: [...merged.ignored, ...(value("logging.format") === "text" ? ["logging.format"] : [])],
  };
}

function isExplicit(merged: Merged, key: KeyName): boolean {
  const source = merged.settings.get(key)?.source;
  return source !== undefined && source !== "default";
}

/** The stronger of `gossip_addr` and `gossip_port` says the port. */
function gossipAddress(merged: Merged): ListenAddress {
  const address = merged.settings.get("cluster.gossip_addr");
  const port = merged.settings.get("cluster.gossip_port");
  const portWins = port !== undefined && sources.indexOf(port.source) > sources.indexOf(address?.source ?? "default");
  return {
    ...(address?.value as HostPort),
    ...(portWins ? { port: port.value as number } : {}),
    explicit: portWins || isExplicit(merged, "cluster.gossip_addr"),
  };
}

/** Problems that more than one key makes. */
function checkTogether(merged: Merged): Problem[] {
  return [...checkListeners(merged), ...checkJoins(merged), ...checkGossip(merged), ...checkDatabase(merged)];
}

function problemAt(merged: Merged, key: KeyName, message: string, code: Problem["code"] = "bad_config"): Problem {
  const setting = merged.settings.get(key);
  const where = { default: "", file: setting?.from ?? "", environment: "environment", flag: "command line" }[setting?.source ?? "default"];
  const name = setting === undefined || setting.source === "default" || setting.source === "file" ? key : setting.from;
  return { code, where, name, message };
}

function checkListeners(merged: Merged): Problem[] {
  const listeners: [string, KeyName, HostPort][] = [];
  const add = (what: string, key: KeyName, address: unknown) => {
    if (address !== undefined) listeners.push([what, key, address as HostPort]);
  };
  add("gRPC", "listen_addr", merged.settings.get("listen_addr")?.value);
  add("HTTP", "http_addr", merged.settings.get("http_addr")?.value);
  add("gossip", "cluster.gossip_addr", merged.settings.has("cluster.gossip_addr") ? gossipAddress(merged) : undefined);
  add("metrics", "prometheus_listen_addr", merged.settings.get("prometheus_listen_addr")?.value);
  const problems: Problem[] = [];
  const insecure = merged.settings.get("insecure")?.value === true;
  const taken = new Map<string, string>();
  for (const [what, key, address] of listeners) {
    const shown = formatHostPort(address);
    if (!insecure && !isLoopback(address.host) && !(what === "gossip" && isGossipGuarded(merged))) {
      const guard = what === "gossip" ? "give cluster.encryption_keys, " : "";
      const message = `the ${what} listener on ${shown} is open beyond loopback and nothing guards it${guard ? "" : " yet"}; ${guard}listen on loopback, or give --insecure inside a network you trust`;
      problems.push(problemAt(merged, key, message));
    }
    const other = address.port === 0 ? undefined : taken.get(shown);
    if (other !== undefined) problems.push(problemAt(merged, key, `${what} and ${other} cannot both listen on ${shown}`));
    taken.set(shown, what);
  }
  return problems;
}

function isGossipGuarded({ settings }: Merged): boolean {
  const keys = settings.get("cluster.encryption_keys")?.value as Values["cluster.encryption_keys"] | undefined;
  return keys !== undefined && keys.length > 0 && settings.get("cluster.encryption")?.value === "required";
}

function checkJoins(merged: Merged): Problem[] {
  const peers = (merged.settings.get("cluster.join_addrs")?.value ?? []) as Values["cluster.join_addrs"];
  return peers
    .filter((peer) => peer.scheme === "grpcs")
    .map((peer) => problemAt(merged, "cluster.join_addrs", `${peer.text}: ${tlsJoinSentence}`, "not_built_yet"));
}

function checkGossip(merged: Merged): Problem[] {
  const problems: Problem[] = [];
  const address = merged.settings.get("cluster.gossip_addr");
  const port = merged.settings.get("cluster.gossip_port");
  if (port && port.source === address?.source && port.value !== (address.value as HostPort).port) {
    problems.push(problemAt(merged, "cluster.gossip_port", "contradicts cluster.gossip_addr; give one of them"));
  }
  const keys = merged.settings.get("cluster.encryption_keys")?.value as Values["cluster.encryption_keys"] | undefined;
  if (keys?.length === 0 && merged.settings.get("cluster.encryption")?.value !== "required") {
    problems.push(problemAt(merged, "cluster.encryption", "needs cluster.encryption_keys"));
  }
  const preset =
    gossipPresets[(merged.settings.get("cluster.gossip_preset")?.value as Values["cluster.gossip_preset"] | undefined) ?? "lan"];
  const intervalMs = (merged.settings.get("cluster.probe_interval")?.value as number | undefined) ?? preset.probeIntervalMs;
  const timeoutMs = (merged.settings.get("cluster.probe_timeout")?.value as number | undefined) ?? preset.probeTimeoutMs;
  if (timeoutMs > intervalMs) {
    const key = merged.settings.has("cluster.probe_timeout") ? "cluster.probe_timeout" : "cluster.probe_interval";
    problems.push(
      problemAt(merged, key, `a probe times out after ${timeoutMs} ms, which must not be longer than the ${intervalMs} ms between probes`),
    );
  }
  return problems;
}

function checkDatabase(merged: Merged): Problem[] {
  const replicas = merged.settings.get("database.replicas")?.value as Values["database.replicas"] | undefined;
  if (merged.problems.length > 0) return [];
  const problems: Problem[] = [];
  if (replicas?.length && !merged.settings.has("database.url")) {
    problems.push(problemAt(merged, "database.replicas", "needs database.url, the primary of these replicas"));
  }
  const value = <K extends KeyName>(key: K) => merged.settings.get(key)?.value as Values[K];
  const redisUrl = value("database.sticking.redis_url");
  if (value("database.sticking.store") === "redis" && redisUrl === undefined) {
    problems.push(problemAt(merged, "database.sticking.store", "needs database.sticking.redis_url"));
  }
  if (value("database.sticking.store") !== "redis" && redisUrl !== undefined) {
    problems.push(problemAt(merged, "database.sticking.redis_url", 'needs database.sticking.store = "redis"'));
  }
  if (value("database.sticking.store") !== "token" && value("database.sticking.secret") !== undefined) {
    problems.push(problemAt(merged, "database.sticking.secret", 'needs database.sticking.store = "token"'));
  }
  for (const { key, message } of discoveryProblems(value, (key) => !hasDefault(merged, key)))
    problems.push(problemAt(merged, key, message));
  return problems;
}

/** Whether the value is the one that it has when nobody sets it, which is how `config show` writes it. */
function hasDefault(merged: Merged, key: KeyName): boolean {
  return JSON.stringify(merged.settings.get(key)?.raw) === JSON.stringify(keys[key].default);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}
