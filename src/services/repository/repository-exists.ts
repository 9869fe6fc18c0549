import type { RepositoryExistsRequest__Output } from "../../proto/gen/gitaly/RepositoryExistsRequest.ts";
import type { RepositoryExistsResponse } from "../../proto/gen/gitaly/RepositoryExistsResponse.ts";
import { type CallContext, targetPath } from "../../rpc/index.ts";
import type { ServicesDeps } from "../services-deps.ts";

/** RepositoryExists: asks the store, so that the answer is never older than the call. */
export function repositoryExists(deps: Pick<ServicesDeps, "storage" | "storageName">) {
  return async (request: RepositoryExistsRequest__Output, call: CallContext): Promise<RepositoryExistsResponse> => {
    const path = targetPath(request.repository, deps.storageName);
    return { exists: (await deps.storage.newest(path, call.signal)) !== undefined };
  };
}
