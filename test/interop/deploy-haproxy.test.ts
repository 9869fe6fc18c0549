import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "../../src/base/index.ts";
import { haproxyMissing } from "../support/haproxy.ts";
import { peerSuite } from "../support/peer-suite.ts";

const { missing, required } = peerSuite("deploy-haproxy", haproxyMissing());

test.skipIf(missing !== undefined && !required)("HAProxy accepts the configuration of docs/deploy", () => {
  const { status, stdout, stderr } = spawnSync("haproxy", ["-c", "-f", join(packageRoot, "docs", "deploy", "haproxy.cfg")], {
    encoding: "utf8",
  });
  expect([status, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining("valid")]);
});
