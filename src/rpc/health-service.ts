import { type Clock, CodedError } from "../base/index.ts";
import type { HealthCheckRequest__Output } from "../proto/gen/grpc/health/v1/HealthCheckRequest.ts";
import type { HealthCheckResponse } from "../proto/gen/grpc/health/v1/HealthCheckResponse.ts";
import type { CallContext, ServiceHandlers } from "./handler.ts";
import type { NodeState } from "./interceptors/availability.ts";

export interface HealthDeps {
  readonly state: () => NodeState;
  readonly clock: Clock;
  /** Names of all services of the server. */
  readonly services: () => readonly string[];
}

/** How often a watched state is looked at. */
const watchIntervalMs = 500;

/** `grpc.health.v1.Health`: a node serves while it is ready; a draining one answers calls but asks for no new ones. */
export function healthService(deps: HealthDeps): ServiceHandlers {
  const known = (service: string) => service === "" || deps.services().includes(service);
  const current = () => (deps.state().state === "ready" ? "SERVING" : "NOT_SERVING");
  return {
    Check: async ({ service }: HealthCheckRequest__Output): Promise<HealthCheckResponse> => {
      if (!known(service)) throw new CodedError("not_found", "unknown service", { service: service.slice(0, 200) });
      return { status: current() };
    },
    Watch: async function* ({ service }: HealthCheckRequest__Output, call: CallContext): AsyncGenerator<HealthCheckResponse> {
      let told: string | undefined;
      for (;;) {
        const status = known(service) ? current() : "SERVICE_UNKNOWN";
        if (status !== told) yield { status };
        told = status;
        await deps.clock.sleep(watchIntervalMs, call.signal);
      }
    },
  };
}
