import { type Gauge, type LogFields, type Logger, type Metrics, noMetrics, silentLogger } from "../../src/observability/index.ts";
import type { SimNode } from "./sim-node.ts";

/** What a process logs and counts. Without `full` only gauges can be read, which costs nothing while it runs. */
export function createRecorder(full: boolean) {
  const warnings: SimNode["warnings"] = [];
  const counters = new Map<string, number>();
  const collectors = new Map<string, (gauge: Gauge) => void>();
  const note = (message: string, fields?: LogFields) => void warnings.push({ message, fields });
  const recording: Logger = { debug: () => {}, info: () => {}, warn: note, error: note, child: () => recording };
  const counter: Metrics["counter"] = (name) => ({
    add: (amount = 1, labels = {}) => {
      const key = `${name}{${Object.values(labels).join()}}`;
      counters.set(key, (counters.get(key) ?? 0) + amount);
    },
  });
  const metrics: Metrics = {
    ...noMetrics,
    counter: full ? counter : noMetrics.counter,
    gauge: (name, help, labels, collect) => {
      if (collect) collectors.set(name, collect);
      return noMetrics.gauge(name, help, labels);
    },
  };
  const readGauge = (name: string) => {
    let last = 0;
    const set = (value: number) => {
      last = value;
    };
    collectors.get(name)?.({ set, add: () => {} });
    return last;
  };
  return { warnings, counters, logger: full ? recording : silentLogger, metrics, readGauge };
}
