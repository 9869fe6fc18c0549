import type { Gauge, Labels, Metrics } from "../observability/index.ts";

/** Hands out one set of metrics to several databases: each series gets a label `database`, each gauge is collected for all of them. */
export class LabelledMetrics {
  readonly #metrics: Metrics;
  readonly #collectors = new Map<string, Set<(gauge: Gauge) => void>>();

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  /** The metrics as one database sees them. */
  of(database: string): Metrics {
    const metrics = this.#metrics;
    const full = (labels: Labels = {}) => ({ ...labels, database });
    const labelled = (gauge: Gauge): Gauge => ({
      set: (value, labels) => gauge.set(value, full(labels)),
      add: (amount, labels) => gauge.add(amount, full(labels)),
    });
    return {
      counter: (name, help, labelNames = []) => {
        const counter = metrics.counter(name, help, [...labelNames, "database"]);
        return { add: (amount = 1, labels = {}) => counter.add(amount, full(labels)) };
      },
      gauge: (name, help, labelNames = [], collect) => {
        const collectors = this.#collectors.get(name) ?? new Set();
        this.#collectors.set(name, collectors);
        const gauge = metrics.gauge(name, help, [...labelNames, "database"], (every) => {
          for (const one of collectors) one(every);
        });
        if (collect) collectors.add((every) => collect(labelled(every)));
        return labelled(gauge);
      },
      histogram: (name, help, labelNames, buckets) => {
        const histogram = metrics.histogram(name, help, [...labelNames, "database"], buckets);
        return { observe: (value, labels = {}) => histogram.observe(value, full(labels)) };
      },
    };
  }
}
