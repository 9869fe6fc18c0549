import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { loadConfig, showConfig } from "../../../src/config/index.ts";
import { configInput, problemsOf } from "../../support/config-input.ts";

test("says of each value where it came from", () => {
  const toml = '\n[cluster]\nreplicas = 3\nzone = "eu"';
  const { toml: shown } = showConfig(
    configInput({ toml, env: { GITALY_CACHE_MAX_BYTES: "1GiB" }, flags: { insecure: true, "join-addr": ["http://a"] } }),
  );
  const lines = shown.split("\n");
  expect(lines).toContain("replicas = 3  # gitaly.toml:3");
  expect(lines).toContain('zone = "eu"  # gitaly.toml:4');
  expect(lines).toContain('max_bytes = "1GiB"  # env GITALY_CACHE_MAX_BYTES');
  expect(lines).toContain("insecure = true  # flag --insecure");
  expect(lines).toContain('join_addrs = [ "http://a" ]  # flag --join-addr');
  expect(lines).toContain('drain_linger = "3s"  # default');
  expect(lines).toContainEqual(expect.stringMatching(/^# data_dir is not set: /));
});

test("masks passwords before a host and in parameters, in lists too", () => {
  const toml = `[database]
url = "postgres://u:geheim@h/d?sslmode=require&password=geheim&x=1"
replicas = ["postgres://u:geheim@r/d"]`;
  const { toml: shown, settings } = showConfig(configInput({ toml }));
  expect(shown).not.toContain("geheim");
  expect(JSON.stringify(settings, (_, value) => (typeof value === "bigint" ? String(value) : value))).not.toContain("geheim");
  expect(shown).toContain('"postgres://u:***@h/d?sslmode=require&password=***&x=1"');
  expect(shown).toContain('"postgres://u:***@r/d"');
});

test("shows of a key of the cluster only that it is there", () => {
  const key = Buffer.alloc(32, 7).toString("base64");
  const shown = showConfig(configInput({ env: { GITALY_CLUSTER_ENCRYPTION_KEYS: `${key},${key}` } }));
  expect(shown.toml).toContain('encryption_keys = [ "***", "***" ]  # env GITALY_CLUSTER_ENCRYPTION_KEYS');
  expect(shown.settings.find((setting) => setting.key === "cluster.encryption_keys")?.value).toEqual(["***", "***"]);
  expect(shown.toml).not.toContain(key);
});

test("what it prints can be loaded again and means the same", () => {
  const input = configInput({
    toml: "cluster.hash_seed = 18446744073709551615\ncluster.weight = 0.25",
    env: { GITALY_CLUSTER_JOIN_ADDRS: "http://a, gossip://b:1", GITALY_GRACEFUL_RESTART_TIMEOUT: "1m30s" },
    flags: {
      "listen-addr": "127.0.0.1:9",
      "http-addr": "127.0.0.1:10",
      "gossip-addr": "127.0.0.1:11",
      database: ["postgres://a", "postgres://b"],
    },
  });
  const { toml } = showConfig(input);
  expect(() => parse(toml, { integersAsBigInt: "asNeeded" })).not.toThrow();
  const explicit = (config: object) =>
    JSON.stringify(config, (key, value) => (key === "explicit" ? true : typeof value === "bigint" ? String(value) : value));
  expect(explicit(loadConfig(configInput({ toml })))).toEqual(explicit(loadConfig(input)));
});

test("a bad configuration is refused with the same list", () => {
  expect(problemsOf(() => showConfig(configInput({ toml: "x = 1" })))).toEqual(["bad_config gitaly.toml:1 x: unknown key"]);
});

test("a database URL without its slashes is refused, because its password would be shown", () => {
  const problems = problemsOf(() => showConfig(configInput({ env: { GITALY_DATABASE_URL: "postgres:u:hidden@db/app" } })));
  expect(problems).toEqual([expect.stringContaining("GITALY_DATABASE_URL: must be postgres://")]);
  expect(problems.join()).not.toContain("hidden");
});
