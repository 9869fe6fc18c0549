import type { FindDefaultBranchNameRequest__Output } from "../../proto/gen/gitaly/FindDefaultBranchNameRequest.ts";
import type { FindDefaultBranchNameResponse } from "../../proto/gen/gitaly/FindDefaultBranchNameResponse.ts";
import { type CallContext, targetPath } from "../../rpc/index.ts";
import type { ServicesDeps } from "../services-deps.ts";
import { defaultBranch } from "./default-branch.ts";

/** FindDefaultBranchName: with `head_only` what HEAD names, born or not; else a branch that exists, or an empty name. */
export function findDefaultBranchName(deps: Pick<ServicesDeps, "cache" | "storageName">) {
  return async (request: FindDefaultBranchNameRequest__Output, call: CallContext): Promise<FindDefaultBranchNameResponse> => {
    const path = targetPath(request.repository, deps.storageName);
    await using lease = await deps.cache.acquire(path, call.signal);
    const name = request.headOnly ? lease.head : defaultBranch(lease);
    return { name: Buffer.from(name ?? "", "latin1") };
  };
}
