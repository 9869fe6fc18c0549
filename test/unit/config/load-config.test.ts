import { expect, test } from "vitest";
import { CodedError } from "../../../src/base/index.ts";
import { loadConfig } from "../../../src/config/index.ts";
import { envName, keys } from "../../../src/config/keys.ts";
import { configInput, problemsOf } from "../../support/config-input.ts";

const load = (given: Parameters<typeof configInput>[0]) => loadConfig(configInput(given));
const problems = (given: Parameters<typeof configInput>[0]) => problemsOf(() => load(given));

test("nothing given, the defaults are a node on loopback", () => {
  expect(load({})).toEqual({
    nodeName: undefined,
    dataDir: undefined,
    grpc: { host: "127.0.0.1", port: 8075, explicit: false },
    http: { host: "127.0.0.1", port: 8076, explicit: false },
    gossip: { host: "127.0.0.1", port: 7946, explicit: false },
    prometheus: undefined,
    advertiseHost: undefined,
    advertiseHttp: undefined,
    joinAddrs: [],
    readyFile: undefined,
    insecure: false,
    cluster: {
      replicas: undefined,
      weight: 1,
      zone: "",
      hashSeed: undefined,
      label: "",
      encryptionKeys: [],
      encryption: "required",
      requireId: false,
      gossipPreset: "lan",
      suspicionMultiplier: undefined,
      suspicionMaxMultiplier: undefined,
      probeIntervalMs: undefined,
      probeTimeoutMs: undefined,
    },
    objectStorage: { url: undefined },
    database: {
      url: undefined,
      replicas: [],
      discovery: undefined,
      balancer: expect.any(Object),
      sticking: { store: "memory", redisUrl: undefined, secrets: undefined },
      fleetWide: false,
      roleEndpoints: { maxCheckAgeMs: 10_000, maxDiscoveryAgeMs: Number.POSITIVE_INFINITY },
    },
    catalog: { reconcileIntervalMs: 3_600_000 },
    cache: { dir: undefined, maxBytes: 10 * 2 ** 30, minFreeBytes: 512 * 2 ** 20 },
    git: { binPath: "git" },
    routing: { unawareClients: "serve", http: "redirect" },
    logging: { level: "info", dir: undefined },
    drainLingerMs: 3000,
    gracefulRestartTimeoutMs: 60_000,
    ignored: [],
  });
});

test("the configuration is frozen to its leaves", () => {
  const config = load({ flags: { "join-addr": ["http://a"] } });
  expect([config, config.cluster, config.grpc, config.joinAddrs, config.joinAddrs[0]].every(Object.isFrozen)).toBe(true);
});

const key16 = Buffer.alloc(16, 1).toString("base64");
const key32 = Buffer.alloc(32, 2).toString("base64");

// Each key, once in the file and once in the environment, with the place in the configuration that it sets.
const settings: readonly [key: string, toml: string, env: string, path: string, value: unknown][] = [
  ["node_name", '"n:1"', "n:1", "nodeName", "n:1"],
  ["data_dir", '"/d"', "/d", "dataDir", "/d"],
  ["data_dir", '"sub/d"', "sub/d", "dataDir", "/home/u/sub/d"],
  ["listen_addr", '"127.0.0.2:1"', "127.0.0.2:1", "grpc", { host: "127.0.0.2", port: 1, explicit: true }],
  ["listen_addr", '"[::1]:0"', "[::1]:0", "grpc", { host: "::1", port: 0, explicit: true }],
  ["http_addr", '"localhost:2"', "localhost:2", "http", { host: "localhost", port: 2, explicit: true }],
  ["prometheus_listen_addr", '"127.0.0.1:3"', "127.0.0.1:3", "prometheus", { host: "127.0.0.1", port: 3, explicit: true }],
  ["advertise_host", '"node-1.example"', "node-1.example", "advertiseHost", "node-1.example"],
  ["advertise_http", '"https://git.example/x/"', "https://git.example/x/", "advertiseHttp", "https://git.example/x"],
  ["ready_file", '"r.json"', "r.json", "readyFile", "/home/u/r.json"],
  ["insecure", "true", "1", "insecure", true],
  ["drain_linger", '"1m30s"', "1m30s", "drainLingerMs", 90_000],
  ["graceful_restart_timeout", '"500ms"', "500ms", "gracefulRestartTimeoutMs", 500],
  ["cluster.join_addrs", '["gossip://h"]', "gossip://h", "joinAddrs", [{ scheme: "gossip", host: "h", port: 7946, text: "gossip://h" }]],
  ["cluster.gossip_addr", '"127.0.0.1:4"', "127.0.0.1:4", "gossip", { host: "127.0.0.1", port: 4, explicit: true }],
  ["cluster.gossip_port", "5", "5", "gossip", { host: "127.0.0.1", port: 5, explicit: true }],
  ["cluster.replicas", "3", "3", "cluster.replicas", 3],
  ["cluster.weight", "0.5", "0.5", "cluster.weight", 0.5],
  ["cluster.zone", '"eu-1"', "eu-1", "cluster.zone", "eu-1"],
  ["cluster.hash_seed", "42", "42", "cluster.hashSeed", 42n],
  ["cluster.hash_seed", "18446744073709551615", "18446744073709551615", "cluster.hashSeed", 2n ** 64n - 1n],
  ["cluster.label", '"blue"', "blue", "cluster.label", "blue"],
  ["cluster.encryption_keys", `["${key32}", "${key16}"]`, `${key32}, ${key16}`, "cluster.encryptionKeys", [key32, key16]],
  ["cluster.encryption", '"preferred"', "preferred", "cluster.encryption", "preferred"],
  ["cluster.require_id", "true", "true", "cluster.requireId", true],
  ["cluster.gossip_preset", '"wan"', "wan", "cluster.gossipPreset", "wan"],
  ["cluster.suspicion_multiplier", "5", "5", "cluster.suspicionMultiplier", 5],
  ["cluster.suspicion_max_multiplier", "7", "7", "cluster.suspicionMaxMultiplier", 7],
  ["cluster.probe_interval", '"2s"', "2s", "cluster.probeIntervalMs", 2000],
  ["cluster.probe_timeout", '"250ms"', "250ms", "cluster.probeTimeoutMs", 250],
  ["object_storage.url", '"s3://b/p?region=x"', "s3://b/p?region=x", "objectStorage.url", "s3://b/p?region=x"],
  ["object_storage.url", '"file:///d"', "file:///d", "objectStorage.url", "file:///d"],
  ["database.url", '"postgres://u:p@h/d"', "postgres://u:p@h/d", "database.url", "postgres://u:p@h/d"],
  [
    "database.replicas",
    '["postgres://a", "postgres://b"]',
    "postgres://a, postgres://b",
    "database.replicas",
    ["postgres://a", "postgres://b"],
  ],
  ["catalog.reconcile_interval", '"0s"', "0s", "catalog.reconcileIntervalMs", 0],
  ["cache.dir", '"/c"', "/c", "cache.dir", "/c"],
  ["cache.max_bytes", "1000", "1000", "cache.maxBytes", 1000],
  ["cache.max_bytes", '"2GiB"', "2GiB", "cache.maxBytes", 2 ** 31],
  ["cache.min_free_bytes", '"5 MB"', "5 MB", "cache.minFreeBytes", 5_000_000],
  ["git.bin_path", '"/usr/bin/git"', "/usr/bin/git", "git.binPath", "/usr/bin/git"],
  ["routing.unaware_clients", '"refuse"', "refuse", "routing.unawareClients", "refuse"],
  ["routing.http", '"relay"', "relay", "routing.http", "relay"],
  ["logging.level", '"debug"', "debug", "logging.level", "debug"],
  ["logging.dir", '"/l"', "/l", "logging.dir", "/l"],
  ["logging.format", '"text"', "text", "ignored", ["logging.format"]],
  // Only their harmless value is built.
  ["cluster.enabled", "true", "true", "ignored", []],
  ["object_storage.on_outage", '"fail"', "fail", "ignored", []],
];

function at(value: unknown, path: string): unknown {
  return path.split(".").reduce((inner, name) => (inner as Record<string, unknown>)[name], value);
}

test.each(settings)("%s = %s is read from the file and from the environment", (key, toml, env, path, value) => {
  // Some keys need another one.
  const others: Record<string, Record<string, string>> = {
    "database.replicas": { GITALY_DATABASE_URL: "postgres://p" },
    "cluster.encryption": { GITALY_CLUSTER_ENCRYPTION_KEYS: key16 },
  };
  const beside = { env: others[key] ?? {} };
  expect(at(load({ ...beside, toml: `${key} = ${toml}` }), path)).toEqual(value);
  expect(at(load({ env: { ...beside.env, [envName(key)]: env } }), path)).toEqual(value);
});

test("the table above names every key but those of the database, which have tables of their own", () => {
  const named = Object.keys(keys).filter((key) => !key.startsWith("database.") || /\.(url|replicas)$/.test(key));
  expect(new Set(settings.map(([key]) => key))).toEqual(new Set(named));
});

const flags: readonly [flag: string, value: string | boolean | string[], path: string, expected: unknown][] = [
  ["node-name", "n", "nodeName", "n"],
  ["data-dir", "d", "dataDir", "/home/u/d"],
  ["listen-addr", "127.0.0.1:1", "grpc.port", 1],
  ["http-addr", "127.0.0.1:2", "http.port", 2],
  ["gossip-addr", "127.0.0.1:3", "gossip.port", 3],
  ["advertise-host", "h", "advertiseHost", "h"],
  ["advertise-http", "http://h:1", "advertiseHttp", "http://h:1"],
  ["object-storage", "s3://b", "objectStorage.url", "s3://b"],
  ["database", ["postgres://p", "postgres://r"], "database.url", "postgres://p"],
  ["database", ["postgres://p", "postgres://r"], "database.replicas", ["postgres://r"]],
  ["ready-file", "/r", "readyFile", "/r"],
  ["insecure", true, "insecure", true],
  [
    "join-addr",
    ["http://a:80", "grpc://b", "http://b"],
    "joinAddrs",
    [
      { scheme: "grpc", host: "a", port: 80, text: "http://a:80" },
      { scheme: "grpc", host: "b", port: 8075, text: "http://b" },
    ],
  ],
];

test.each(flags)("--%s is read", (flag, value, path, expected) => {
  expect(at(load({ flags: { [flag]: value } }), path)).toEqual(expected);
});

test("the flags above are all there are", () => {
  const known = Object.values(keys).flatMap((spec) => ("flag" in spec ? [spec.flag] : []));
  expect(new Set(flags.map(([flag]) => flag))).toEqual(new Set(known));
});

test("flags beat the environment, which beats the file", () => {
  const toml = 'listen_addr = "127.0.0.1:1"\nhttp_addr = "127.0.0.1:11"\nnode_name = "file"';
  const env = { GITALY_LISTEN_ADDR: "127.0.0.1:2", GITALY_HTTP_ADDR: "127.0.0.1:12" };
  const config = load({ toml, env, flags: { "listen-addr": "127.0.0.1:3" } });
  expect([config.grpc.port, config.http.port, config.nodeName]).toEqual([3, 12, "file"]);
});

test("an empty environment variable counts as not set", () => {
  expect(load({ env: { GITALY_NODE_NAME: "", GITALY_CLUSTER_JOIN_ADDRS: "" } }).nodeName).toBeUndefined();
});

test("--database replaces the file's primary and its replicas together", () => {
  const config = load({ toml: '[database]\nurl = "postgres://a"\nreplicas = ["postgres://b"]', flags: { database: ["postgres://c"] } });
  expect(config.database).toMatchObject({ url: "postgres://c", replicas: [] });
});

test("the stronger of gossip_addr and gossip_port says the port, and the same source must not contradict itself", () => {
  const toml = '[cluster]\ngossip_addr = "127.0.0.2:1"';
  expect(load({ toml, env: { GITALY_CLUSTER_GOSSIP_PORT: "2" } }).gossip).toEqual({ host: "127.0.0.2", port: 2, explicit: true });
  expect(load({ toml: "cluster.gossip_port = 2", flags: { "gossip-addr": "127.0.0.2:1" } }).gossip.port).toBe(1);
  expect(problems({ toml: `${toml}\ngossip_port = 2` })).toEqual([
    "bad_config gitaly.toml:3 cluster.gossip_port: contradicts cluster.gossip_addr; give one of them",
  ]);
});

test("keys of Gitaly's without an effect are accepted and listed", () => {
  const toml = `
    bin_dir = "/opt/gitaly"
    [git]
    use_bundled_binaries = true
    [[git.config]]
    key = "a"
    value = "b"
    [gitlab-shell]
    dir = "/x"
    [prometheus]
    grpc_latency_buckets = [1.0]
    [cgroups.repositories]
    count = 3
    [logging]
    sentry_dsn = "x"`;
  const { ignored } = load({ toml, env: { GITALY_PID_FILE: "/x", GITALY_NO_SUCH_KEY: "1", HOME: "/h" } });
  expect([...ignored].sort()).toEqual(
    [
      "GITALY_NO_SUCH_KEY",
      "GITALY_PID_FILE",
      "bin_dir",
      "cgroups",
      "git.config",
      "git.use_bundled_binaries",
      "gitlab-shell",
      "logging.sentry_dsn",
      "prometheus",
    ].sort(),
  );
});

test("every bad key is listed, with its line, in the order of the file", () => {
  const toml = [
    'listen_addr = "nowhere"',
    "drain_linger = 3",
    "[cluster]",
    'replicas = "two"',
    "replicsa = 2",
    'join_addrs = ["http://ok", "ftp://bad", 3]',
    "[nonsense]",
    "[cache]",
    "max_bytes = [",
    "  1 ]",
    "[cluster.deep]",
    '"a b" = { c = 1 }',
    "[database]",
    'url = "mysql://u:geheim@h"',
  ].join("\n");
  const found = problems({ toml, env: { GITALY_CLUSTER_WEIGHT: "-1" }, flags: { "http-addr": "x" } });
  expect(found).toEqual([
    'bad_config gitaly.toml:1 listen_addr: must be HOST:PORT, not "nowhere"',
    'bad_config gitaly.toml:2 drain_linger: must be a duration with its unit, like "10s" or "1m30s", not 3',
    'bad_config gitaly.toml:4 cluster.replicas: must be a whole number from 1 to 1000, not "two"',
    "bad_config gitaly.toml:5 cluster.replicsa: unknown key; did you mean cluster.replicas?",
    "bad_config gitaly.toml:6 cluster.join_addrs: entry 2 must be http://HOST[:PORT], grpc://HOST[:PORT] or gossip://HOST[:PORT]",
    "bad_config gitaly.toml:6 cluster.join_addrs: entry 3 must be a string",
    "bad_config gitaly.toml:7 nonsense: unknown table",
    'bad_config gitaly.toml:9 cache.max_bytes: must be a number of bytes, or text like "10GiB"',
    'bad_config gitaly.toml:12 cluster.deep."a b".c: unknown key',
    "bad_config gitaly.toml:14 database.url: must be postgres://[USER[:PASSWORD]@]HOST[:PORT]/NAME",
    "bad_config environment GITALY_CLUSTER_WEIGHT: must be above 0 and at most 1000000, not -1",
    'bad_config command line --http-addr: must be HOST:PORT, not "x"',
  ]);
});

test("a syntax error names its line and never repeats the text, which may hold a secret", () => {
  expect(problems({ toml: 'a = 1\nb = "geheim' })).toEqual([expect.stringMatching(/^bad_config gitaly\.toml:2 : not valid TOML: /)]);
  expect(problems({ toml: 'a = 1\nb = "geheim' }).join()).not.toContain("geheim");
});

test("a file that cannot be read is one problem", () => {
  expect(problems({ flags: { config: "other.toml" } })).toEqual(["bad_config command line --config: cannot read other.toml: ENOENT"]);
});

const badValues: readonly [toml: string, message: RegExp][] = [
  ['node_name = "a b"', /1 to 128 of/],
  ['node_name = ""', /1 to 128 of/],
  ['data_dir = ""', /must not be empty/],
  ['data_dir = "a\\u0000b"', /control characters/],
  ['listen_addr = "127.0.0.1:65536"', /from 0 to 65535/],
  ['listen_addr = "tcp://h:1"', /must be HOST:PORT/],
  ['advertise_host = "h:1"', /without a port/],
  ['advertise_http = "http://u@h"', /without a user/],
  ['advertise_http = "ftp://h"', /http:\/\//],
  ["cluster.replicas = 0", /from 1 to 1000/],
  ["cluster.replicas = 1.5", /from 1 to 1000/],
  ["cluster.weight = 0", /above 0/],
  ["cluster.weight = inf", /above 0/],
  ["cluster.weight = nan", /above 0/],
  ["cluster.hash_seed = -1", /18446744073709551615/],
  ['cluster.hash_seed = "x"', /18446744073709551615/],
  ['cluster.gossip_preset = "moon"', /"lan" or "wan" or "local"/],
  ['cluster.probe_interval = "1"', /duration with its unit/],
  ['cluster.probe_interval = "1ms"', /must be from 0\.01s/],
  ['drain_linger = "-1s"', /duration with its unit/],
  ["cluster = 3", /must be a table/],
  ["cluster.replicas = { a = 1 }", /from 1 to 1000/],
  ['cluster.join_addrs = "http://h"', /must be a list/],
  ['cluster.join_addrs = ["http://h:0"]', /from 1 to 65535/],
  ['cluster.join_addrs = ["http://h/path"]', /must be http:/],
  ['cluster.join_addrs = ["http://u:p@h"]', /user or a password/],
  ['object_storage.url = "s3:///p"', /s3:\/\/BUCKET/],
  ['object_storage.url = "file://host/d"', /file:\/\/\/DIRECTORY/],
  ['object_storage.url = "/d"', /file:\/\/\/DIRECTORY/],
  ['cache.max_bytes = "10 apples"', /10GiB/],
  ["cache.max_bytes = -1", /10GiB/],
  ['object_storage.on_outage = "shrug"', /"fail" or "stale"/],
  ["insecure = 1", /true or false/],
  ['cluster.probe_interval = "1s"\ncluster.probe_timeout = "2s"', /probe_timeout.*must not be longer/],
  ['cluster.probe_interval = "400ms"', /probe_interval.*after 500 ms.*must not be longer than the 400 ms/],
  ['cluster.gossip_preset = "wan"\ncluster.probe_interval = "2s"', /probe_interval.*after 3000 ms.*must not be longer/],
  ['database.replicas = ["postgres://r"]', /needs database\.url/],
  ['database.sticking.store = "redis"', /needs database\.sticking\.redis_url/],
  ['database.sticking.redis_url = "redis://h"', /needs database\.sticking\.store = "redis"/],
  ['[database.sticking]\nstore = "redis"\nredis_url = "h:6379"', /must be redis:/],
  ['listen_addr = "127.0.0.1:9"\nhttp_addr = "127.0.0.1:9"', /HTTP and gRPC cannot both/],
];

test.each(badValues)("%s is refused", (toml, message) => {
  expect(problems({ toml })).toEqual([expect.stringMatching(message)]);
});

const guarded: readonly [toml: string, what: string][] = [
  ['listen_addr = "0.0.0.0:1"', "the gRPC listener on 0.0.0.0:1"],
  ['listen_addr = ":1"', "the gRPC listener on 0.0.0.0:1"],
  ['http_addr = "192.0.2.1:1"', "the HTTP listener on 192.0.2.1:1"],
  ['cluster.gossip_addr = "[::]:1"', "the gossip listener on [::]:1"],
  ['prometheus_listen_addr = "node.example:1"', "the metrics listener on node.example:1"],
];

test.each(guarded)("%s needs --insecure", (toml, what) => {
  expect(problems({ toml })).toEqual([expect.stringContaining(what)]);
  expect(problems({ toml })[0]).toContain("--insecure");
  expect(problems({ toml, flags: { insecure: true } })).toEqual([]);
});

test.each(["localhost:1", "LOCALHOST:1", "127.0.0.1:1", "127.255.0.9:1", "[::1]:1", "[0:0:0:0:0:0:0:1]:1"])("%s is loopback", (addr) => {
  expect(problems({ flags: { "listen-addr": addr } })).toEqual([]);
});

test.each([
  ["database", ["postgres://u:geheim@h/d"]],
  ["database", ["postgres://h/d", "postgres://h/d?user=u&password=geheim"]],
  ["object-storage", "s3://key:geheim@bucket"],
  ["join-addr", ["http://u:geheim@h"]],
  ["advertise-http", "http://u:geheim@h"],
])("a password in --%s is refused with the way out, and not repeated", (flag, value) => {
  const found = problems({ flags: { [flag]: value } }).join("\n");
  expect(found).toMatch(/does not belong on the command line.*use the file or GITALY_/);
  expect(found).not.toContain("geheim");
});

const unbuilt: readonly [given: Parameters<typeof configInput>[0], where: string][] = [
  [{ toml: '[auth]\ntoken = "x"' }, "gitaly.toml:2 auth.token"],
  [{ toml: "[auth]\ntransitioning = true" }, "gitaly.toml:2 auth.transitioning"],
  [{ env: { GITALY_AUTH_TOKEN: "x" } }, "environment GITALY_AUTH_TOKEN"],
  [{ toml: 'http.auth = "basic"' }, "gitaly.toml:1 http.auth"],
  [{ toml: '[tls]\ncertificate_path = "x"' }, "gitaly.toml:2 tls.certificate_path"],
  [{ toml: 'tls_listen_addr = "127.0.0.1:1"' }, "gitaly.toml:1 tls_listen_addr"],
  [{ flags: { "token-file": "x" } }, "command line --token-file"],
  [{ toml: '[[storage]]\nname = "default"\npath = "/x"' }, "gitaly.toml:1 storage"],
  [{ toml: 'storage.retention = "1h"' }, "gitaly.toml:1 storage.retention"],
  [{ toml: "cluster.enabled = false" }, "gitaly.toml:1 cluster.enabled"],
  [{ env: { GITALY_CLUSTER_ENABLED: "false" } }, "environment GITALY_CLUSTER_ENABLED"],
  [{ toml: 'object_storage.on_outage = "stale"' }, "gitaly.toml:1 object_storage.on_outage"],
  [{ toml: '\n[[concurrency]]\nrpc = "/x"' }, "gitaly.toml:2 concurrency"],
  [{ toml: '[[rate_limiting]]\nrpc = "/x"' }, "gitaly.toml:1 rate_limiting"],
  [{ toml: "[pack_objects_limiting]\nmax_concurrency = 1" }, "gitaly.toml:2 pack_objects_limiting.max_concurrency"],
  [{ toml: '[hooks]\ncustom_hooks_dir = "/x"' }, "gitaly.toml:2 hooks.custom_hooks_dir"],
  [{ toml: '[gitlab]\nurl = "http://h"' }, "gitaly.toml:2 gitlab.url"],
  [{ toml: 'config_command = "/x"' }, "gitaly.toml:1 config_command"],
  [{ flags: { "join-addr": ["https://h"] } }, "command line --join-addr"],
  [{ toml: 'cluster.join_addrs = ["grpcs://h"]' }, "gitaly.toml:1 cluster.join_addrs"],
];

test.each(unbuilt)("%j is refused as not built yet, never ignored", (given, where) => {
  expect(problems(given)).toEqual([
    expect.stringMatching(new RegExp(`^not_built_yet ${where.replaceAll(".", "\\.")}: .*(not built|cannot be set) yet`)),
  ]);
  expect(() => load(given)).toThrow(expect.objectContaining({ code: "not_built_yet" }));
});

test("beside a bad key, what is not built is still listed, and the code is bad_config", () => {
  const given = { toml: "nonsense = 1\n[auth]\ntoken = 'x'" };
  expect(problems(given)).toHaveLength(2);
  try {
    load(given);
    expect.unreachable();
  } catch (error) {
    expect(CodedError.is(error, "bad_config")).toBe(true);
  }
});
