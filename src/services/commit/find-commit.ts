import { checkRevision } from "../../git/index.ts";
import type { FindCommitRequest__Output } from "../../proto/gen/gitaly/FindCommitRequest.ts";
import type { FindCommitResponse } from "../../proto/gen/gitaly/FindCommitResponse.ts";
import { type CallContext, targetPath } from "../../rpc/index.ts";
import { DamageControl } from "../damage-control.ts";
import type { ServicesDeps } from "../services-deps.ts";
import { parseCommit } from "./parse-commit.ts";
import { readCommit } from "./read-commit.ts";

/** FindCommit: the commit that a revision names; an answer without a commit where there is none. */
export function findCommit(deps: Pick<ServicesDeps, "cache" | "git" | "storageName" | "logger">) {
  const damage = new DamageControl(deps);
  return async (request: FindCommitRequest__Output, call: CallContext): Promise<FindCommitResponse> => {
    const path = targetPath(request.repository, deps.storageName);
    const revision = request.revision.toString("latin1");
    checkRevision(revision);
    await using lease = await deps.cache.acquire(path, call.signal);
    const commit = await damage.retrying(lease, call.signal, () => readCommit(deps.git, lease, revision, call.signal));
    return commit ? { commit: parseCommit(commit.oid, commit.content, { trailers: request.trailers }) } : {};
  };
}
