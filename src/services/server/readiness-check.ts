import type { ReadinessCheckResponse } from "../../proto/gen/gitaly/ReadinessCheckResponse.ts";
import type { NodeCheck, ServicesDeps } from "../services-deps.ts";

/** ReadinessCheck: whether this node can serve. It answers from what the node knows already, so the asked timeout never matters. */
export function readinessCheck(deps: Pick<ServicesDeps, "node">) {
  return async (): Promise<ReadinessCheckResponse> => {
    const { state, checks } = deps.node.state();
    const failed: NodeCheck[] = checks.filter((check) => !check.ok);
    if (state !== "ready") failed.unshift({ name: "state", ok: false, message: `the node is ${state}` });
    if (failed.length === 0) return { okResponse: {}, Result: "okResponse" };
    return {
      failureResponse: { failedChecks: failed.map(({ name, message }) => ({ name, errorMessage: message })) },
      Result: "failureResponse",
    };
  };
}
