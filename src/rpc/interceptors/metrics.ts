import { status } from "@grpc/grpc-js";
import type { Clock } from "../../base/index.ts";
import type { Metrics } from "../../observability/index.ts";
import { codeName } from "../code-name.ts";
import { callStatusOf } from "../errors.ts";
import type { Interceptor } from "../server-call.ts";

const methodLabels = ["grpc_type", "grpc_service", "grpc_method"] as const;
const buckets = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 10, 30, 60, 300, 1500];

/** Counts and times calls under the names that gRPC servers in Go use. */
export function metrics(registry: Metrics, clock: Clock): Interceptor {
  const started = registry.counter("grpc_server_started_total", "Calls that came in.", methodLabels);
  const handled = registry.counter("grpc_server_handled_total", "Calls that ended, by status code.", [...methodLabels, "grpc_code"]);
  const received = registry.counter("grpc_server_msg_received_total", "Request messages that handlers read.", methodLabels);
  const sent = registry.counter("grpc_server_msg_sent_total", "Response messages that handlers wrote.", methodLabels);
  const seconds = registry.histogram("grpc_server_handling_seconds", "Time from a call's start to its end.", methodLabels, buckets);
  return async (call, next) => {
    const { type, service, shortName } = call.method;
    const labels = { grpc_type: type, grpc_service: service, grpc_method: shortName };
    const startedAt = clock.monotonic();
    started.add(1, labels);
    let code = status.OK;
    try {
      await next();
    } catch (error) {
      code = callStatusOf(error, "").code;
      throw error;
    } finally {
      handled.add(1, { ...labels, grpc_code: codeName(code) });
      received.add(call.received, labels);
      sent.add(call.sent, labels);
      seconds.observe((clock.monotonic() - startedAt) / 1000, labels);
    }
  };
}
