import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CodedError, systemClock, systemRandom } from "../base/index.ts";
import { type ReconcileCounts, rebuild } from "../catalog/index.ts";
import type { Config } from "../config/index.ts";
import { createLoadBalancer } from "../db/index.ts";
import { type Logger, noMetrics, silentLogger } from "../observability/index.ts";
import { createRepositorySource } from "../services/index.ts";
import { openObjectStore, RepositoryScan, readClusterId } from "../storage/index.ts";
import { defaultDataDir } from "./choose-data-dir.ts";
import { CloseStack, disposeAsync } from "./close-stack.ts";
import { isOfCluster } from "./cluster-id-file.ts";
import { type ClusterPlace, knownPlace } from "./locate-cluster.ts";
import { type DatabasePlace, serversOf } from "./open-database.ts";

/** How the catalog is rebuilt. */
export interface RebuildCatalogOptions {
  /** Counts what would be done, and writes nothing. */
  readonly dryRun: boolean;
  /** Also where the database lists another cluster's repositories. */
  readonly takeOver: boolean;
  /** Hears after each page how far it is. */
  readonly onProgress: (counts: ReconcileCounts) => void;
  /** Hears of each repository that cannot be read. */
  readonly onDamaged: (repository: string) => void;
}

/**
 * Makes the catalog what the object store says, beside running nodes or without any: needs the store and the database alone, as the configuration or the
 * data directory names them. Errors: `failed_precondition` where there is no store or no database, `cluster_mismatch`, `store_unavailable`, `database_unavailable`.
 */
export async function rebuildCatalog(config: Config, options: RebuildCatalogOptions, signal: AbortSignal): Promise<ReconcileCounts> {
  const parts = { clock: systemClock, random: systemRandom, logger: hearing(options.onDamaged), metrics: noMetrics };
  const closing = new CloseStack(silentLogger);
  try {
    const dataDir = config.dataDir ?? defaultDataDir(process.env);
    const place = knownPlace(config, dataDir, false);
    if (!place || (place.storeEmbedded && !existsSync(fileURLToPath(place.storeUrl)))) throw noStore();
    const store = closing.use("object store", await openObjectStore(place.storeUrl, parts), disposeAsync);
    const clusterId = await readClusterId(store, signal);
    if (clusterId === undefined) throw noStore();
    const databasePlace = databaseOf(config, dataDir, place, clusterId);
    const servers = await serversOf(databasePlace, { ...parts, closing }, signal);
    const opened = await createLoadBalancer({ ...config.database.balancer, ...servers, applicationName: "gitaly catalog rebuild" }, parts);
    const database = closing.use("database", opened, disposeAsync);
    const source = createRepositorySource(new RepositoryScan({ ...parts, store }));
    return await rebuild({ ...options, clusterId }, { ...parts, database, source, onPage: options.onProgress }, signal);
  } finally {
    await closing.close();
  }
}

/** The database of a node with this configuration and data directory. An embedded one is made only where its node would make it, too. */
function databaseOf(config: Config, dataDir: string, place: ClusterPlace, clusterId: string): Exclude<DatabasePlace, { kind: "none" }> {
  const { url, replicas, discovery } = config.database;
  if (url !== undefined) return { kind: "urls", primary: url, replicas, ...(discovery && { discovery }) };
  if (place.database && place.database.kind !== "none") return place.database;
  const isOwn = isOfCluster(dataDir, clusterId) && (place.storeEmbedded || existsSync(join(dataDir, "postgres")));
  if (!place.database && isOwn) return { kind: "embedded", directory: dataDir };
  throw new CodedError(
    "failed_precondition",
    "the database of the catalog is not known; give database.url, or the data directory of its node",
    {
      dataDir,
    },
  );
}

function noStore(): CodedError {
  return new CodedError("failed_precondition", "there is no object store of a cluster; give --config, --data-dir or --object-storage");
}

/** All that is logged here and that the caller does not hear as an error. */
function hearing(onDamaged: (repository: string) => void): Logger {
  return {
    ...silentLogger,
    error: (_message, fields) => {
      if (typeof fields?.["repository"] === "string") onDamaged(fields["repository"]);
    },
  };
}
