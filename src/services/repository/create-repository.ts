import { CodedError } from "../../base/index.ts";
import type { CreateRepositoryRequest__Output } from "../../proto/gen/gitaly/CreateRepositoryRequest.ts";
import type { CreateRepositoryResponse } from "../../proto/gen/gitaly/CreateRepositoryResponse.ts";
import type { ObjectFormat__Output } from "../../proto/gen/gitaly/ObjectFormat.ts";
import { type CallContext, targetPath } from "../../rpc/index.ts";
import type { ObjectFormat } from "../../storage/index.ts";
import { CallerConsistency } from "../caller-consistency.ts";
import { catalogEntry } from "../catalog-entry.ts";
import type { ServicesDeps } from "../services-deps.ts";
import { branchHead } from "./branch-head.ts";

/** A number that the .proto file does not know comes as it is. */
const objectFormats: Readonly<Partial<Record<ObjectFormat__Output | number, ObjectFormat>>> = {
  OBJECT_FORMAT_UNSPECIFIED: "sha1",
  OBJECT_FORMAT_SHA1: "sha1",
  OBJECT_FORMAT_SHA256: "sha256",
};

/** CreateRepository: an empty repository with an unborn default branch. */
export function createRepository(deps: Pick<ServicesDeps, "storage" | "catalog" | "smartHttp" | "clock" | "storageName">) {
  return async (request: CreateRepositoryRequest__Output, call: CallContext): Promise<CreateRepositoryResponse> => {
    const path = targetPath(request.repository, deps.storageName);
    const head = branchHead(request.defaultBranch);
    const objectFormat = objectFormats[request.objectFormat];
    if (!objectFormat) throw new CodedError("invalid_argument", "unknown object format", { objectFormat: request.objectFormat });
    const generation = await deps.storage.create(path, { objectFormat, head }, call.signal);
    deps.catalog.record(catalogEntry(generation, 0));
    await new CallerConsistency(deps, call).changed(path);
    return {};
  };
}
