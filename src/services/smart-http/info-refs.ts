import type { GitService } from "../../git/index.ts";
import type { InfoRefsRequest__Output } from "../../proto/gen/gitaly/InfoRefsRequest.ts";
import type { InfoRefsResponse } from "../../proto/gen/gitaly/InfoRefsResponse.ts";
import { type CallContext, targetPath } from "../../rpc/index.ts";
import type { ServicesDeps } from "../services-deps.ts";
import { dataMessages } from "./byte-messages.ts";
import { checkGitConfigOptions } from "./git-config-options.ts";

export type InfoRefsDeps = Pick<ServicesDeps, "storageName" | "smartHttp">;

/** What both InfoRefs RPCs do. */
export async function* infoRefs(
  deps: InfoRefsDeps,
  service: GitService,
  request: InfoRefsRequest__Output,
  call: CallContext,
): AsyncGenerator<InfoRefsResponse> {
  const path = targetPath(request.repository, deps.storageName);
  checkGitConfigOptions(request.gitConfigOptions);
  yield* dataMessages(await deps.smartHttp.infoRefs(service, { path, gitProtocol: request.gitProtocol, signal: call.signal }));
}
