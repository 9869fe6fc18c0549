import type { CatalogEntry } from "../../catalog/index.ts";
import type { RepositoryInfo } from "../../proto/gen/gitaly_gossip/v1/RepositoryInfo.ts";

/** What is known of a repository, as the wire has it. `clusterReplicas` is its k where it has none of its own. */
export function repositoryInfo(
  entry: CatalogEntry,
  clusterReplicas: number,
): RepositoryInfo & { relativePath: string; defaultBranch: Buffer } {
  return {
    relativePath: entry.path,
    id: entry.repoId,
    objectFormat: entry.objectFormat,
    defaultBranch: Buffer.from(entry.head.replace(/^refs\/heads\//, ""), "latin1"),
    generation: String(entry.generation),
    replicas: entry.replicas > 0 ? entry.replicas : clusterReplicas,
    sizeBytes: String(entry.sizeBytes),
    refs: String(entry.refCount),
    packs: String(entry.packCount),
    createdAtMs: String(entry.createdAtMs),
    updatedAtMs: String(entry.updatedAtMs),
  };
}
