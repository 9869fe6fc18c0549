import type { Counter, Metrics } from "../observability/index.ts";

/** What the gossip part counts. */
export interface GossipMetrics {
  readonly packets: Counter;
  readonly packetBytes: Counter;
  readonly dropped: Counter;
  readonly probes: Counter;
  readonly exchanges: Counter;
  readonly events: Counter;
  readonly refutations: Counter;
}

/** Registers the metrics; the gauges read from `sources` at each scrape. */
export function gossipMetrics(
  metrics: Metrics,
  sources: { countByState: () => Readonly<Record<string, number>>; queueLength: () => number; healthScore: () => number },
): GossipMetrics {
  metrics.gauge("gitaly_cluster_gossip_members", "Known members by state", ["state"], (gauge) => {
    for (const [state, count] of Object.entries(sources.countByState())) gauge.set(count, { state });
  });
  metrics.gauge("gitaly_cluster_gossip_queue_length", "Messages that wait to be gossiped", [], (gauge) => gauge.set(sources.queueLength()));
  metrics.gauge("gitaly_cluster_gossip_health_score", "How much this process doubts itself; 0 is healthy", [], (gauge) =>
    gauge.set(sources.healthScore()),
  );
  return {
    packets: metrics.counter("gitaly_cluster_gossip_packets_total", "Gossip datagrams", ["direction"]),
    packetBytes: metrics.counter("gitaly_cluster_gossip_packet_bytes_total", "Bytes of gossip datagrams", ["direction"]),
    dropped: metrics.counter("gitaly_cluster_gossip_dropped_total", "What peers sent and was not taken, by reason", ["reason"]),
    probes: metrics.counter("gitaly_cluster_gossip_probes_total", "Probes of members by result", ["result"]),
    exchanges: metrics.counter("gitaly_cluster_gossip_exchanges_total", "Full exchanges of state", ["side", "result"]),
    events: metrics.counter("gitaly_cluster_gossip_events_total", "Changes of the membership", ["type"]),
    refutations: metrics.counter("gitaly_cluster_gossip_refutations_total", "Accusations of this node that it refuted"),
  };
}
