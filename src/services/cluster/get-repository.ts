import type { GetRepositoryRequest__Output } from "../../proto/gen/gitaly_gossip/v1/GetRepositoryRequest.ts";
import type { GetRepositoryResponse } from "../../proto/gen/gitaly_gossip/v1/GetRepositoryResponse.ts";
import { type CallContext, targetPath } from "../../rpc/index.ts";
import { catalogEntry } from "../catalog-entry.ts";
import type { ServicesDeps } from "../services-deps.ts";
import { repositoryInfo } from "./repository-info.ts";

/** GetRepository: from the store itself, so that it is right whatever the catalog knows. */
export function getRepository(deps: Pick<ServicesDeps, "cache" | "storageName" | "view">) {
  return async (request: GetRepositoryRequest__Output, call: CallContext): Promise<GetRepositoryResponse> => {
    const path = targetPath(request.repository, deps.storageName);
    await using lease = await deps.cache.acquire(path, call.signal);
    return { repository: repositoryInfo(catalogEntry(lease.generation, lease.refs.size), deps.view().ring.replicas) };
  };
}
