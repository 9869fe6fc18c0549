import type { CatalogEntry } from "../../catalog/index.ts";
import type { RepositoryInfo } from "../../proto/gen/gitaly_gossip/v1/RepositoryInfo.ts";

/** What is known of a repository, as the wire has it. */
export function repositoryInfo(entry: CatalogEntry): RepositoryInfo & { relativePath: string; defaultBranch: Buffer } {
  return {
    relativePath: entry.path,
    id: entry.repoId,
    objectFormat: entry.objectFormat,
    defaultBranch: Buffer.from(entry.head.replace(/^refs\/heads\//, ""), "latin1"),
    generation: String(entry.generation),
    replicas: entry.replicas,
    sizeBytes: String(entry.sizeBytes),
    refs: String(entry.refCount),
    packs: String(entry.packCount),
    createdAtMs: String(entry.createdAtMs),
    updatedAtMs: String(entry.updatedAtMs),
  };
}
