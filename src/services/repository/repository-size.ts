import { CodedError } from "../../base/index.ts";
import type { RepositorySizeRequest__Output } from "../../proto/gen/gitaly/RepositorySizeRequest.ts";
import type { RepositorySizeResponse } from "../../proto/gen/gitaly/RepositorySizeResponse.ts";
import { type CallContext, targetPath } from "../../rpc/index.ts";
import { generationSizeBytes } from "../generation-size.ts";
import type { ServicesDeps } from "../services-deps.ts";

/** RepositorySize: KiB of what the newest generation names in the store, rounded up. */
export function repositorySize(deps: Pick<ServicesDeps, "storage" | "storageName">) {
  return async (request: RepositorySizeRequest__Output, call: CallContext): Promise<RepositorySizeResponse> => {
    const path = targetPath(request.repository, deps.storageName);
    const generation = await deps.storage.newest(path, call.signal);
    if (!generation) throw new CodedError("repository_not_found", "repository not found", { relativePath: path });
    return { size: String(Math.ceil(generationSizeBytes(generation) / 1024)) };
  };
}
