import { CodedError } from "../../base/index.ts";
import type { BootstrapRequest__Output } from "../../proto/gen/gitaly_gossip/v1/BootstrapRequest.ts";
import type { BootstrapResponse } from "../../proto/gen/gitaly_gossip/v1/BootstrapResponse.ts";
import type { CallContext } from "../../rpc/index.ts";
import type { ServicesDeps } from "../services-deps.ts";

/** Bootstrap: where the cluster keeps its data, for a node that joins. */
export function bootstrap(deps: Pick<ServicesDeps, "bootstrap">) {
  return async (request: BootstrapRequest__Output, call: CallContext): Promise<BootstrapResponse> => {
    const response = deps.bootstrap();
    if (!response) throw new CodedError("node_unavailable", "this node has no store yet", {}, { retryAfterMs: 1000 });
    call.logger.info("a node asked how to join", { joiner: request.node.slice(0, 128) });
    return response;
  };
}
