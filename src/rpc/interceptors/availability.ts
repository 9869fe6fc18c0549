import { CodedError } from "../../base/index.ts";
import type { Interceptor } from "../server-call.ts";

/** Whether a node can serve repositories; `reason` says why not. */
export interface NodeState {
  readonly state: "warming" | "ready" | "draining";
  readonly reason?: string;
}

const retryAfterMs = 1000;

/** While the node warms up, calls about repositories are told to come again; what concerns the node itself is answered. */
export function availability(state: () => NodeState): Interceptor {
  return async (call, next) => {
    const { intercepted, target } = call.method.route;
    const { state: current, reason = "" } = state();
    if (current === "warming" && !intercepted && target !== undefined) {
      throw new CodedError("node_unavailable", `the node is warming up${reason && `: ${reason}`}`, {}, { retryAfterMs });
    }
    await next();
  };
}
