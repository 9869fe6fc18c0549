import type { Counter, Histogram, Metrics } from "../observability/index.ts";
import type { HostList } from "./hosts/host-list.ts";

/** The load balancer's metrics. */
export interface DbMetrics {
  readonly reads: Counter;
  readonly writes: Counter;
  readonly errors: Counter;
  readonly seconds: Histogram;
}

/** Defines the metrics; the gauges read `hosts` at each scrape. */
export function defineDbMetrics(metrics: Metrics, hosts: HostList): DbMetrics {
  metrics.gauge("dblb_replicas", "Replicas by state", ["state"], (gauge) => {
    const usable = hosts.snapshot.replicas.filter((state) => state.usable).length;
    gauge.set(usable, { state: "usable" });
    gauge.set(hosts.snapshot.replicas.length - usable, { state: "out" });
  });
  metrics.gauge("dblb_connections", "Open connections by server and state", ["host", "role", "state"], (gauge) => {
    const { primary, replicas } = hosts.snapshot;
    for (const host of [primary, ...replicas.map((state) => state.host)]) {
      const { open, idle } = host.connections;
      gauge.set(idle, { host: host.name, role: host.role, state: "idle" });
      gauge.set(open - idle, { host: host.name, role: host.role, state: "in_use" });
    }
  });
  return {
    reads: metrics.counter("dblb_reads_total", "Reads by the role that answered and why it was asked", ["target", "reason"]),
    writes: metrics.counter("dblb_writes_total", "Statements and transactions for the primary, by kind", ["kind"]),
    errors: metrics.counter("dblb_errors_total", "Failed attempts by server and class of error", ["host", "class"]),
    seconds: metrics.histogram(
      "dblb_query_seconds",
      "Time a statement took, waiting and failing over included",
      ["target"],
      [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 30],
    ),
  };
}
