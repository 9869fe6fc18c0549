import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { readFileIfExists, writeFileAtomic } from "./atomic-file.ts";

/** Marks a data directory as one of a cluster, so that a joiner on the same host can tell that a path it was told is the very directory. */
export function markDataDir(dataDir: string, clusterId: string): void {
  writeFileAtomic(join(dataDir, "cluster-id"), `${clusterId}\n`);
}

/** Whether `directory` is on this host, open to this user, and marked with this cluster's id. */
export function isOfCluster(directory: string, clusterId: string): boolean {
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    return readFileIfExists(join(directory, "cluster-id"))?.trim() === clusterId;
  } catch {
    return false;
  }
}
