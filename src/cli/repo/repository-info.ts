import type { RepositoryInfo__Output } from "../../proto/gen/gitaly_gossip/v1/RepositoryInfo.ts";

/** A repository as `--json` shows it. */
export interface ShownRepository {
  readonly relative_path: string;
  readonly id: string;
  readonly object_format: string;
  readonly default_branch: string;
  readonly generation: number;
  readonly replicas: number;
  readonly size_bytes: number;
  readonly refs: number;
  readonly packs: number;
}

/** The shape for people and scripts, from what the node sent. */
export function shownRepository(info: RepositoryInfo__Output): ShownRepository {
  return {
    relative_path: info.relativePath,
    id: info.id,
    object_format: info.objectFormat,
    default_branch: Buffer.from(info.defaultBranch)
      .toString("utf8")
      .replace(/^refs\/heads\//, ""),
    generation: Number(info.generation),
    replicas: info.replicas,
    size_bytes: Number(info.sizeBytes),
    refs: Number(info.refs),
    packs: Number(info.packs),
  };
}
