import { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from "prom-client";

export type Labels = Readonly<Record<string, string | number>>;

export interface Counter {
  add(amount?: number, labels?: Labels): void;
}

export interface Gauge {
  set(value: number, labels?: Labels): void;
  add(amount: number, labels?: Labels): void;
}

export interface Histogram {
  observe(value: number, labels?: Labels): void;
}

/** Where each part defines its metrics, beside its code. Asking twice for one name gives the same metric. */
export interface Metrics {
  counter(name: string, help: string, labelNames?: readonly string[]): Counter;
  /** `collect` is called before each scrape and may set the gauge. */
  gauge(name: string, help: string, labelNames?: readonly string[], collect?: (gauge: Gauge) => void): Gauge;
  /** `buckets` in the metric's unit, upper bounds. */
  histogram(name: string, help: string, labelNames: readonly string[], buckets: readonly number[]): Histogram;
}

/** Metrics that can be read as a Prometheus text page. */
export interface MetricsRegistry extends Metrics {
  readonly contentType: string;
  expose(): Promise<string>;
}

/** A registry of its own; nothing is global. */
export function createMetrics(): MetricsRegistry {
  const registry = new Registry();
  const known = new Map<string, unknown>();
  const once = <T>(name: string, make: () => T): T => {
    const found = known.get(name) as T | undefined;
    if (found) return found;
    const made = make();
    known.set(name, made);
    return made;
  };
  return {
    contentType: registry.contentType,
    expose: () => registry.metrics(),
    counter: (name, help, labelNames = []) =>
      once(name, () => {
        const metric = new PromCounter({ name, help, labelNames: [...labelNames], registers: [registry] });
        return { add: (amount = 1, labels = {}) => metric.inc(labels, amount) };
      }),
    gauge: (name, help, labelNames = [], collect) =>
      once(name, () => {
        const metric = new PromGauge({
          name,
          help,
          labelNames: [...labelNames],
          registers: [registry],
          ...(collect ? { collect: () => collect(gauge) } : {}),
        });
        const gauge: Gauge = {
          set: (value, labels = {}) => metric.set(labels, value),
          add: (amount, labels = {}) => metric.inc(labels, amount),
        };
        return gauge;
      }),
    histogram: (name, help, labelNames, buckets) =>
      once(name, () => {
        const metric = new PromHistogram({ name, help, labelNames: [...labelNames], buckets: [...buckets], registers: [registry] });
        return { observe: (value, labels = {}) => metric.observe(labels, value) };
      }),
  };
}

/** Counts nothing. */
export const noMetrics: Metrics = {
  counter: () => ({ add: () => {} }),
  gauge: () => ({ set: () => {}, add: () => {} }),
  histogram: () => ({ observe: () => {} }),
};
