import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "../../src/base/index.ts";
import { haproxyMissing } from "../support/haproxy.ts";
import { PeerHome } from "../support/peer-home.ts";
import { peerSuite } from "../support/peer-suite.ts";

const { missing, required } = peerSuite("deploy-haproxy", haproxyMissing());

test.skipIf(missing !== undefined && !required)("HAProxy accepts the configuration of docs/deploy", async () => {
  await using home = await PeerHome.open();
  const file = await home.write("haproxy.cfg", await readFile(join(packageRoot, "docs", "deploy", "haproxy.cfg"), "utf8"));
  await expect(home.run("haproxy", ["-c", "-f", file])).resolves.toContain("valid");
});
