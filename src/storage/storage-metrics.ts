import type { Counter, Histogram, Metrics } from "../observability/index.ts";

/** What the commit machine counts. */
export interface StorageMetrics {
  readonly commits: Counter;
  readonly racesLost: Counter;
  readonly groupSize: Histogram;
}

/** Defines the metrics of commits. */
export function storageMetrics(metrics: Metrics): StorageMetrics {
  return {
    commits: metrics.counter("gitaly_storage_commits_total", "Generations this node tried to write, by how it ended.", ["outcome"]),
    racesLost: metrics.counter("gitaly_storage_races_lost_total", "Slots that another writer filled first."),
    groupSize: metrics.histogram("gitaly_storage_commit_group_size", "Pushes committed by one generation.", [], [1, 2, 4, 8, 16, 32, 64]),
  };
}
