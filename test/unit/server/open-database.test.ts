import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../../src/config/index.ts";
import type { LoadBalancer } from "../../../src/db/index.ts";
import { createMetrics, silentLogger } from "../../../src/observability/index.ts";
import { CloseStack } from "../../../src/server/close-stack.ts";
import { Late } from "../../../src/server/late.ts";
import { LateCatalog } from "../../../src/server/late-catalog.ts";
import { openDatabase } from "../../../src/server/open-database.ts";
import { configInput } from "../../support/config-input.ts";
import { SimClock } from "../../support/sim-clock.ts";
import { simRandom } from "../../support/sim-random.ts";
import { tempDir } from "../../support/temp-dir.ts";

test("an embedded database that cannot be opened is tried again and told of, until the node stops", async () => {
  await using dir = await tempDir();
  const file = join(dir.path, "file");
  writeFileSync(file, "");
  const clock = new SimClock();
  const stop = new AbortController();
  let failed = () => {};
  let failures = 0;
  const logger = {
    ...silentLogger,
    error: () => {
      failures++;
      failed();
    },
  };
  const metrics = createMetrics();
  const catalog = new LateCatalog({ metrics, logger });
  const deps = {
    clock,
    random: simRandom(1),
    logger,
    metrics,
    closing: new CloseStack(logger),
    database: new Late<LoadBalancer>("database"),
    settings: { ...loadConfig(configInput()).database, clusterId: "ab", liveNodes: () => 1 },
  };
  const nextFailure = () => new Promise<void>((resolve) => (failed = resolve));
  let failure = nextFailure();
  const opening = openDatabase({ kind: "embedded", directory: join(file, "below") }, catalog, deps, stop.signal);
  for (let i = 1; i <= 3; i++) {
    await failure;
    expect(failures).toBeGreaterThanOrEqual(i);
    expect(catalog.health.ok).toBe(false);
    expect(catalog.health.message).toContain("database.url");
    failure = nextFailure();
    await clock.advance(10_000);
  }
  stop.abort(new Error("stopped"));
  await opening;
});
