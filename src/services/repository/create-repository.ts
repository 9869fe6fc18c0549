import type { CreateRepositoryRequest__Output } from "../../proto/gen/gitaly/CreateRepositoryRequest.ts";
import type { CreateRepositoryResponse } from "../../proto/gen/gitaly/CreateRepositoryResponse.ts";
import { type CallContext, targetPath } from "../../rpc/index.ts";
import { catalogEntry } from "../catalog-entry.ts";
import type { ServicesDeps } from "../services-deps.ts";
import { branchHead } from "./branch-head.ts";

/** CreateRepository: an empty repository with an unborn default branch. */
export function createRepository(deps: Pick<ServicesDeps, "storage" | "catalog" | "storageName">) {
  return async (request: CreateRepositoryRequest__Output, call: CallContext): Promise<CreateRepositoryResponse> => {
    const path = targetPath(request.repository, deps.storageName);
    const head = branchHead(request.defaultBranch);
    const objectFormat = request.objectFormat === "OBJECT_FORMAT_SHA256" ? "sha256" : "sha1";
    const generation = await deps.storage.create(path, { objectFormat, head }, call.signal);
    deps.catalog.record(catalogEntry(generation, 0));
    return {};
  };
}
