import type { RemoveRepositoryRequest__Output } from "../../proto/gen/gitaly/RemoveRepositoryRequest.ts";
import type { RemoveRepositoryResponse } from "../../proto/gen/gitaly/RemoveRepositoryResponse.ts";
import { type CallContext, targetPath } from "../../rpc/index.ts";
import { CallerConsistency } from "../caller-consistency.ts";
import type { ServicesDeps } from "../services-deps.ts";

/** RemoveRepository: the name is free again at once. */
export function removeRepository(deps: Pick<ServicesDeps, "storage" | "catalog" | "smartHttp" | "clock" | "storageName">) {
  return async (request: RemoveRepositoryRequest__Output, call: CallContext): Promise<RemoveRepositoryResponse> => {
    const path = targetPath(request.repository, deps.storageName);
    const { repoId, n } = await deps.storage.remove(path, call.signal);
    deps.catalog.recordRemoved(path, repoId, n);
    await new CallerConsistency(deps, call).changed(path);
    return {};
  };
}
