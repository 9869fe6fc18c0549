import type { Counter, Gauge, Histogram, Metrics } from "../observability/index.ts";
import type { HostList } from "./hosts/host-list.ts";

/** The load balancer's metrics. */
export interface DbMetrics {
  readonly reads: Counter;
  readonly writes: Counter;
  readonly errors: Counter;
  readonly shed: Counter;
  readonly tokens: Counter;
  readonly seconds: Histogram;
}

/** Defines the metrics; the gauges read `hosts` at each scrape. */
export function defineDbMetrics(metrics: Metrics, hosts: HostList): DbMetrics {
  defineHostGauges(metrics, hosts);
  return {
    reads: metrics.counter("dblb_reads_total", "Reads by the role that answered and why it was asked", ["target", "reason"]),
    writes: metrics.counter("dblb_writes_total", "Statements and transactions for the primary, by kind", ["kind"]),
    errors: metrics.counter("dblb_errors_total", "Failed attempts by server and class of error", ["host", "class"]),
    shed: metrics.counter("dblb_shed_total", "Reads refused to protect the primary, and failures not tried again, by reason", ["reason"]),
    tokens: metrics.counter("dblb_position_tokens_total", "Position tokens that callers brought, by what was thought of them", ["verdict"]),
    seconds: metrics.histogram(
      "dblb_query_seconds",
      "Time a statement took, waiting and failing over included",
      ["target"],
      [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 30],
    ),
  };
}

function defineHostGauges(metrics: Metrics, hosts: HostList): void {
  metrics.gauge("dblb_replicas", "Replicas by state", ["state"], (gauge) => {
    const usable = hosts.snapshot.replicas.filter((state) => state.usable).length;
    gauge.set(usable, { state: "usable" });
    gauge.set(hosts.snapshot.replicas.length - usable, { state: "out" });
  });
  const outSeries = new Series("reason");
  metrics.gauge("dblb_replicas_out", "Replicas that serve no reads, by the reason", ["reason"], (gauge) => {
    const counts = new Map<string, number>();
    for (const { usable, reason } of hosts.snapshot.replicas) if (!usable) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    outSeries.show(gauge, counts);
  });
  metrics.gauge("dblb_primaries", "1 where some server is written to, 0 where writes are refused", [], (gauge) => {
    gauge.set(hosts.snapshot.primary ? 1 : 0);
  });
  const lag = (unit: "lagBytes" | "lagMs", scale: number) => {
    const series = new Series("host");
    return (gauge: Gauge) => {
      const known = hosts.snapshot.replicas.map((state) => [state.host.name, (state[unit] ?? Number.NaN) * scale] as const);
      series.show(gauge, new Map(known));
    };
  };
  metrics.gauge("dblb_replica_lag_bytes", "Missing bytes of the primary's log by replica; NaN: not known", ["host"], lag("lagBytes", 1));
  metrics.gauge(
    "dblb_replica_lag_seconds",
    "Age of the newest replayed transaction by replica; NaN: not known",
    ["host"],
    lag("lagMs", 1e-3),
  );
  metrics.gauge("dblb_connections", "Open connections by server and state", ["host", "role", "state"], (gauge) => {
    const { primary, replicas } = hosts.snapshot;
    for (const host of [...(primary ? [primary.host] : []), ...replicas.map((state) => state.host)]) {
      const { open, idle } = host.connections;
      gauge.set(idle, { host: host.name, role: host.role, state: "idle" });
      gauge.set(open - idle, { host: host.name, role: host.role, state: "in_use" });
    }
  });
}

/** Values of a gauge by one label; what is gone is shown as 0, since a series cannot be taken back. */
class Series {
  readonly #label: string;
  readonly #shown = new Set<string>();

  constructor(label: string) {
    this.#label = label;
  }

  show(gauge: Gauge, values: ReadonlyMap<string, number>): void {
    for (const key of values.keys()) this.#shown.add(key);
    for (const key of this.#shown) gauge.set(values.get(key) ?? 0, { [this.#label]: key });
  }
}
