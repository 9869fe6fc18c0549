import { CodedError, Semaphore } from "../../base/index.ts";
import type { Metrics } from "../../observability/index.ts";
import type { Interceptor } from "../server-call.ts";

export interface LimitOptions {
  /** Calls about repositories that run at once. Default 1024. */
  readonly maxConcurrentCalls: number;
  /** Calls that may wait for their turn; more are refused. Default 1024. */
  readonly maxQueuedCalls: number;
}

const labelNames = ["system", "grpc_service", "grpc_method"] as const;

/** Bounds the calls about repositories that run at once; what concerns the node itself is never refused. */
export function limit(options: LimitOptions, registry: Metrics): Interceptor {
  const places = new Semaphore(options.maxConcurrentCalls, options.maxQueuedCalls);
  const running = registry.gauge("gitaly_concurrency_limiting_in_progress", "Calls that run now.", labelNames);
  const dropped = registry.counter("gitaly_requests_dropped_total", "Calls refused because too many wait.", [...labelNames, "reason"]);
  return async (call, next) => {
    if (call.method.route.target === undefined) return next();
    const labels = { system: "node", grpc_service: call.method.service, grpc_method: call.method.shortName };
    using _place = await places.acquire(call.signal).catch((error: unknown) => {
      if (CodedError.is(error, "limit_exceeded")) dropped.add(1, { ...labels, reason: "max_size" });
      throw error;
    });
    running.add(1, labels);
    try {
      await next();
    } finally {
      running.add(-1, labels);
    }
  };
}
