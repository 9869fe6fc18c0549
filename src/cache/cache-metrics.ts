import type { Counter, Gauge, Histogram, Metrics } from "../observability/index.ts";

/** What the cache counts. */
export interface CacheMetrics {
  readonly hits: Counter;
  readonly misses: Counter;
  readonly evictions: Counter;
  readonly evictedBytes: Counter;
  readonly damaged: Counter;
  readonly adopted: Counter;
  readonly fillsInFlight: Gauge;
  readonly fillSeconds: Histogram;
  readonly fillBytes: Counter;
}

/** Defines the cache's metrics. `sizeBytes` is read at each scrape. */
export function cacheMetrics(metrics: Metrics, sizeBytes: () => number): CacheMetrics {
  metrics.gauge("gitaly_cluster_cache_bytes", "Bytes of artifacts on local disk", [], (gauge) => gauge.set(sizeBytes()));
  return {
    hits: metrics.counter("gitaly_cluster_cache_hits_total", "Snapshots whose packs were all on local disk"),
    misses: metrics.counter("gitaly_cluster_cache_misses_total", "Snapshots that needed something from the object store"),
    evictions: metrics.counter("gitaly_cluster_cache_evictions_total", "Artifacts removed to make room"),
    evictedBytes: metrics.counter("gitaly_cluster_cache_evicted_bytes_total", "Bytes removed to make room"),
    damaged: metrics.counter("gitaly_cluster_cache_damaged_total", "Local artifacts thrown away because they differed from their name"),
    adopted: metrics.counter("gitaly_cluster_cache_adopted_total", "Packs of pushes kept without a download"),
    fillsInFlight: metrics.gauge("gitaly_cluster_cache_fills_in_flight", "Downloads of artifacts now running"),
    fillSeconds: metrics.histogram(
      "gitaly_cluster_cache_fill_seconds",
      "Time one artifact took from the object store to local disk",
      [],
      [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300],
    ),
    fillBytes: metrics.counter("gitaly_cluster_cache_fill_bytes_total", "Bytes downloaded from the object store"),
  };
}
