import { databaseKeys } from "./database-keys.ts";
import { hourMs, type KeySpec, key } from "./key-spec.ts";
import {
  duration,
  encryptionKey,
  flag,
  host,
  httpUrl,
  integer,
  list,
  listenAddress,
  nodeName,
  objectStorageUrl,
  oneOf,
  peerAddress,
  positiveNumber,
  size,
  text,
  uint64,
} from "./values.ts";

/** Every key that has an effect now, by its name in the file. The reference page, the environment names and `config show` come from it. */
export const keys = {
  node_name: key(
    "string",
    nodeName,
    "Name of the node in the cluster and in the ring; chosen once and kept in the data directory.",
    undefined,
    {
      flag: "node-name",
      unset: "hostname, `:` and the gRPC port",
    },
  ),
  data_dir: key(
    "string",
    text(),
    "Directory of all that the node keeps: cache, embedded object store, embedded database, identity. A given one that is in use is an error.",
    undefined,
    {
      flag: "data-dir",
      unset: "`$XDG_DATA_HOME/gitaly`, else `~/.local/share/gitaly`; with `join_addrs` the first free one of `…-2`, `…-3`, …",
    },
  ),
  listen_addr: key(
    "address",
    listenAddress,
    "Where gRPC listens. Port 0: any free one. An empty host: every interface.",
    "127.0.0.1:8075",
    {
      flag: "listen-addr",
    },
  ),
  http_addr: key("address", listenAddress, "Where plain git over HTTP, the health endpoints and `/metrics` listen.", "127.0.0.1:8076", {
    flag: "http-addr",
  }),
  prometheus_listen_addr: key("address", listenAddress, "A port of its own for `/metrics`.", undefined, {
    unset: "`/metrics` is on the HTTP listener",
  }),
  advertise_host: key("string", host, "Host that other nodes and clients are told.", undefined, {
    flag: "advertise-host",
    unset: "the host that the listener is bound to",
  }),
  advertise_http: key("url", httpUrl, "URL that git clients are redirected to.", undefined, {
    flag: "advertise-http",
    unset: "made from the HTTP listener",
  }),
  ready_file: key(
    "string",
    text(),
    "File that is written once the node can serve: a JSON object with its name, process id and addresses.",
    undefined,
    {
      flag: "ready-file",
      unset: "none",
    },
  ),
  insecure: key("boolean", flag, "Allows listeners beyond loopback although nothing guards them yet.", false, { flag: "insecure" }),
  drain_linger: key(
    "duration",
    duration(0, hourMs),
    "How long a stopping node still accepts calls, so that others notice; 0 when it is alone.",
    "3s",
  ),
  graceful_restart_timeout: key(
    "duration",
    duration(0, 24 * hourMs),
    "How long running calls may take to finish when the node stops.",
    "60s",
  ),

  "cluster.enabled": key("boolean", flag, "Whether the node is part of a cluster.", true),
  "cluster.join_addrs": key(
    "list",
    list(peerAddress),
    "Members to join through: `http://HOST[:PORT]` or `grpc://HOST[:PORT]` (default port 8075), or `gossip://HOST[:PORT]` (default port 7946).",
    [],
    { flag: "join-addr" },
  ),
  "cluster.gossip_addr": key("address", listenAddress, "Where gossip listens, on UDP and TCP.", "127.0.0.1:7946", { flag: "gossip-addr" }),
  "cluster.gossip_port": key("integer", integer(0, 65535), "The port of `cluster.gossip_addr` alone.", undefined, {
    unset: "the port of `cluster.gossip_addr`",
  }),
  "cluster.replicas": key("integer", integer(1, 1000), "How many nodes serve one repository.", undefined, {
    unset: "what the cluster uses, 1 for a first node",
  }),
  "cluster.weight": key("number", positiveNumber, "Share of repositories relative to the other nodes.", 1),
  "cluster.zone": key("string", text(64), "Name of the failure zone; shown to clients.", undefined, { unset: "none" }),
  "cluster.hash_seed": key("integer", uint64, "Seed of the ring's hash; the same on every node.", undefined, {
    unset: "what the cluster uses, 0 for a first node",
  }),
  "cluster.label": key("string", text(255), "Label that gossip packets of this cluster carry; the same on every node.", undefined, {
    unset: "none",
  }),
  "cluster.encryption_keys": key(
    "secrets",
    list(encryptionKey),
    "Keys that encrypt gossip, as `gitaly keygen` makes them; the same on every node. The first encrypts, all decrypt.",
    [],
  ),
  "cluster.encryption": key(
    "string",
    oneOf("required", "preferred", "accepted"),
    "What the keys are for. `preferred`: plaintext is taken as well. `accepted`: plaintext is sent, and taken as well. Both are there to turn encryption on node by node.",
    "required",
  ),
  "cluster.require_id": key("boolean", flag, "Refuses gossip members that do not send a cluster id.", false),
  "cluster.gossip_preset": key("string", oneOf("lan", "wan", "local"), "Timing of the failure detector.", "lan"),
  "cluster.suspicion_multiplier": key("integer", integer(1, 100), "Stretches the time before a suspect counts as failed.", undefined, {
    unset: "the preset's, 4 for `lan`",
  }),
  "cluster.suspicion_max_multiplier": key("integer", integer(1, 100), "Upper bound of that time, as a multiple of it.", undefined, {
    unset: "the preset's, 6 for `lan`",
  }),
  "cluster.probe_interval": key("duration", duration(10, hourMs), "Time between probes.", undefined, {
    unset: "the preset's, 1s for `lan`",
  }),
  "cluster.probe_timeout": key("duration", duration(1, hourMs), "How long a probe waits for its answer.", undefined, {
    unset: "the preset's, 500ms for `lan`",
  }),

  "object_storage.url": key(
    "url",
    objectStorageUrl,
    "Where repositories live: `file:///DIRECTORY` or `s3://BUCKET/PREFIX?endpoint=…&region=…&forcePathStyle=true`.",
    undefined,
    { flag: "object-storage", unset: "embedded, in `<data dir>/objects`; a joining node takes the cluster's" },
  ),
  "object_storage.on_outage": key("string", oneOf("fail", "stale"), "What reads do while the object store is down.", "fail"),

  ...databaseKeys,

  "catalog.reconcile_interval": key(
    "duration",
    duration(0, 30 * 24 * hourMs),
    "How long after the last time the catalog is compared with the object store, by one node of the cluster; `0s`: never.",
    "1h",
  ),

  "cache.dir": key("string", text(), "Directory of the repository cache.", undefined, { unset: "`<data dir>/cache`" }),
  "cache.max_bytes": key("size", size, "How large the cache may grow; it evicts what was not used for the longest time.", "10GiB"),
  "cache.min_free_bytes": key("size", size, "Free space that the cache leaves on its disk.", "512MiB"),

  "git.bin_path": key("string", text(), "The git program, 2.39 or newer.", "git"),

  "routing.unaware_clients": key(
    "string",
    oneOf("serve", "refuse"),
    "What a gRPC client gets that asks the wrong node and cannot follow redirects.",
    "serve",
  ),
  "routing.http": key(
    "string",
    oneOf("redirect", "relay"),
    "Whether git over HTTP is sent on to a node that owns the repository, or answered by the node it asked, from the object store. With credentials, and after an advertisement, the node that was asked answers in any case.",
    "redirect",
  ),

  "logging.level": key("string", oneOf("debug", "info", "warn", "error"), "The least level that is logged.", "info"),
  "logging.format": key("string", oneOf("json", "text"), "Accepted for Gitaly's sake; log lines are JSON.", "json"),
  "logging.dir": key("string", text(), "Directory of the log file.", undefined, { unset: "logs go to stderr" }),
} as const;

/** The name of a key in the file, tables joined by dots. */
export type KeyName = keyof typeof keys;

/** The name that the environment has for a key of the file. */
export function envName(keyName: string): string {
  return `GITALY_${keyName.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}`;
}

type ValueOf<S> = S extends KeySpec<infer T, infer D> ? (D extends undefined ? T | undefined : T) : never;

/** The value of every key, checked. */
export type Values = { readonly [K in KeyName]: ValueOf<(typeof keys)[K]> };
