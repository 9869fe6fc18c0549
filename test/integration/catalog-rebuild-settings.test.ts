import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { beforeAll, expect, test } from "vitest";
import { neverAborted, systemClock, systemRandom } from "../../src/base/index.ts";
import { loadConfig } from "../../src/config/index.ts";
import { noMetrics, silentLogger } from "../../src/observability/index.ts";
import { rebuildCatalog } from "../../src/server/index.ts";
import { readOrCreateClusterId } from "../../src/storage/cluster-id.ts";
import { openObjectStore } from "../../src/storage/index.ts";
import { configInput } from "../support/config-input.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";
import { tempDir } from "../support/temp-dir.ts";

let cluster: PostgresCluster;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 0 });
  return async () => await cluster[Symbol.asyncDispose]();
});

test("a rebuild talks to the database as the configuration says", async () => {
  await using dir = await tempDir();
  const url = pathToFileURL(join(dir.path, "objects")).href;
  const parts = { clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics };
  await using store = await openObjectStore(url, parts);
  await readOrCreateClusterId(store, systemRandom, neverAborted);
  const toml = `[object_storage]\nurl = "${url}"\n[database]\nurl = "${cluster.primary.url}"\nstatement_timeout = "3s"`;
  const config = loadConfig(configInput({ toml }));
  const run = () =>
    rebuildCatalog(config, { dryRun: false, takeOver: false, onProgress: () => {}, onDamaged: () => {} }, AbortSignal.timeout(20_000));
  expect(await run()).toMatchObject({ stored: 0, rows: 0 });
  const other = new pg.Client({ connectionString: cluster.primary.url });
  await other.connect();
  try {
    await other.query("BEGIN; LOCK TABLE gitaly.reconciliation IN ACCESS EXCLUSIVE MODE");
    await expect(run()).rejects.toMatchObject({ code: "57014" });
  } finally {
    await other.end();
  }
});
