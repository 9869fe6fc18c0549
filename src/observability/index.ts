export { createLogger, type LogFields, type Logger, type LogLevel, silentLogger } from "./logger.ts";
export {
  type Counter,
  createMetrics,
  type Gauge,
  type Histogram,
  type Labels,
  type Metrics,
  type MetricsRegistry,
  noMetrics,
} from "./metrics.ts";
