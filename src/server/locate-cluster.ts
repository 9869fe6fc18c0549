import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { CodedError } from "../base/index.ts";
import type { Config, JoinAddress } from "../config/index.ts";
import type { AskPeersDeps } from "./ask-peers.ts";
import { type ClusterFacts, clusterFactsOf, readClusterFile, writeClusterFile } from "./cluster-file.ts";
import { isOfCluster } from "./cluster-id-file.ts";
import { findCluster } from "./find-cluster.ts";
import type { DatabasePlace } from "./open-database.ts";

/** Where a node's cluster keeps its data. */
export interface ClusterPlace {
  readonly storeUrl: string;
  /** The store is a directory of one host. */
  readonly storeEmbedded: boolean;
  /** What the members said; undefined for a node with a store of its own, which reads the id there. */
  readonly clusterId: string | undefined;
  /** Undefined: this node's own embedded server, or what the members say. */
  readonly database: DatabasePlace | undefined;
  readonly replicas: number | undefined;
  readonly hashSeed: bigint | undefined;
  readonly gossipAddresses: readonly string[];
}

/**
 * Finds the store: the configured one, the embedded one in the data directory, what members told an earlier start, or, for a
 * node that joins, what a member tells now, however long that takes. Errors: `cluster_mismatch`, `bad_config`.
 */
export async function locateCluster(
  config: Config,
  dataDir: string,
  targets: readonly JoinAddress[],
  deps: AskPeersDeps & { readonly onWaiting: (reason: string) => void },
  signal: AbortSignal,
): Promise<ClusterPlace> {
  const known = knownPlace(config, dataDir, targets.length > 0);
  if (known) return known;
  const answer = await findCluster(targets, deps, deps.onWaiting, signal);
  checkReachable(answer);
  writeClusterFile(dataDir, clusterFactsOf(answer));
  return placeOf(answer, answer.gossipAddresses);
}

/** The store as far as configuration and data directory tell; undefined where only members can, which a node that `joins` asks. */
export function knownPlace(config: Config, dataDir: string, joins: boolean): ClusterPlace | undefined {
  const ownDirectory = join(dataDir, "objects");
  const configured = config.objectStorage.url;
  const kept = readClusterFile(dataDir);
  if (configured !== undefined || existsSync(ownDirectory) || (!joins && !kept)) {
    return {
      storeUrl: configured ?? pathToFileURL(ownDirectory).href,
      storeEmbedded: configured === undefined,
      clusterId: undefined,
      database: undefined,
      replicas: undefined,
      hashSeed: undefined,
      gossipAddresses: [],
    };
  }
  if (!kept) return undefined;
  checkReachable(kept);
  return placeOf(kept, []);
}

function placeOf(facts: ClusterFacts, gossipAddresses: readonly string[]): ClusterPlace {
  return {
    storeUrl: facts.objectStorageUrl,
    storeEmbedded: facts.objectStorageEmbedded,
    clusterId: facts.clusterId,
    database: databaseOf(facts),
    replicas: facts.replicas,
    hashSeed: BigInt(facts.hashSeed),
    gossipAddresses,
  };
}

/** The database that members name, where this node can reach it. */
export function databaseOf(facts: ClusterFacts): DatabasePlace {
  const [primary, ...replicas] = facts.databaseUrls;
  if (primary !== undefined) return { kind: "urls", primary, replicas };
  if (facts.databaseDirectory !== "" && isOfCluster(facts.databaseDirectory, facts.clusterId))
    return { kind: "embedded", directory: facts.databaseDirectory };
  return { kind: "none" };
}

/** An embedded store is a directory of one host: a node elsewhere must be told another store. */
function checkReachable(facts: ClusterFacts): void {
  if (!facts.objectStorageEmbedded || isOfCluster(fileURLToPath(facts.objectStorageUrl), facts.clusterId)) return;
  throw new CodedError(
    "failed_precondition",
    "the cluster's store is a directory that this node cannot read; give all nodes object_storage.url and database.url of servers they can reach",
    { directory: fileURLToPath(facts.objectStorageUrl), keys: "object_storage.url, database.url" },
  );
}
