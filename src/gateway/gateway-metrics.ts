import type { Counter, Gauge, Histogram, Metrics } from "../observability/index.ts";

/** What the gateway counts. */
export interface GatewayMetrics {
  readonly requests: Counter;
  readonly seconds: Histogram;
  readonly inFlight: Gauge;
  readonly redirects: Counter;
  readonly sentBytes: Counter;
  readonly idleClients: Counter;
}

/** Defines the gateway's metrics. */
export function gatewayMetrics(metrics: Metrics): GatewayMetrics {
  const labels = ["route", "status"];
  return {
    requests: metrics.counter("gitaly_cluster_http_requests_total", "Git requests over HTTP; status 0 was cut off", labels),
    seconds: metrics.histogram(
      "gitaly_cluster_http_request_seconds",
      "Time from a git request's headers to the end of its answer",
      ["route"],
      [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600],
    ),
    inFlight: metrics.gauge("gitaly_cluster_http_requests_in_flight", "Git requests over HTTP now served or waiting"),
    redirects: metrics.counter("gitaly_cluster_http_redirects_total", "Ref advertisements answered with a redirect to an owner"),
    sentBytes: metrics.counter("gitaly_cluster_http_sent_bytes_total", "Bytes of answers to git requests"),
    idleClients: metrics.counter(
      "gitaly_cluster_http_idle_clients_total",
      "Connections closed because the client did nothing for too long",
    ),
  };
}
