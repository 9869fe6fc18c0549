import { expect, test } from "vitest";
import { loadConfig } from "../../../src/config/index.ts";
import { configInput, problemsOf } from "../../support/config-input.ts";

const load = (given: Parameters<typeof configInput>[0]) => loadConfig(configInput(given));
const problems = (given: Parameters<typeof configInput>[0]) => problemsOf(() => load(given));
const key16 = Buffer.alloc(16, 1).toString("base64");

test.each(["x", "", key16.slice(0, -2), `${key16} `, Buffer.alloc(20, 1).toString("base64"), Buffer.alloc(32, 255).toString("base64url")])(
  "a gossip key that is not base64 of 16, 24 or 32 bytes is refused and not repeated: %j",
  (bad) => {
    const found = problems({ toml: `cluster.encryption_keys = ["${key16}", "${bad}"]` });
    expect(found).toEqual([
      "bad_config gitaly.toml:1 cluster.encryption_keys: entry 2 must be base64 of 16, 24 or 32 bytes, as gitaly keygen prints it",
    ]);
  },
);

test("how gossip is encrypted cannot be said without a key", () => {
  expect(problems({ toml: 'cluster.encryption = "preferred"' })).toEqual([
    "bad_config gitaly.toml:1 cluster.encryption: needs cluster.encryption_keys",
  ]);
});

test("gossip beyond loopback is guarded by a key that is required, and the other listeners are not", () => {
  const open = { "gossip-addr": "0.0.0.0:7946" };
  const env = { GITALY_CLUSTER_ENCRYPTION_KEYS: key16 };
  expect(load({ flags: open, env }).gossip.host).toBe("0.0.0.0");
  expect(problems({ flags: open })).toEqual([
    expect.stringContaining("give cluster.encryption_keys, listen on loopback, or give --insecure"),
  ]);
  expect(problems({ flags: open, env: { ...env, GITALY_CLUSTER_ENCRYPTION: "preferred" } })).toHaveLength(1);
  expect(problems({ flags: { "listen-addr": "0.0.0.0:1" }, env })).toEqual([expect.stringContaining("nothing guards it yet; listen on")]);
});
