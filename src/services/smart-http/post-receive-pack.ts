import { CodedError } from "../../base/index.ts";
import type { PostReceivePackRequest__Output } from "../../proto/gen/gitaly/PostReceivePackRequest.ts";
import type { PostReceivePackResponse } from "../../proto/gen/gitaly/PostReceivePackResponse.ts";
import { type CallContext, targetPath } from "../../rpc/index.ts";
import { CallerConsistency } from "../caller-consistency.ts";
import type { ServicesDeps } from "../services-deps.ts";
import { dataMessages } from "./byte-messages.ts";
import { checkGitConfigOptions } from "./git-config-options.ts";
import { bodyAfterFirst, firstMessage } from "./request-body.ts";

/** PostReceivePack: what `POST git-receive-pack` does, body and answer as messages. */
export function postReceivePack(deps: Pick<ServicesDeps, "storageName" | "smartHttp" | "catalog" | "clock">) {
  return async function* (
    requests: AsyncIterable<PostReceivePackRequest__Output>,
    call: CallContext,
  ): AsyncGenerator<PostReceivePackResponse> {
    const messages = requests[Symbol.asyncIterator]();
    const { repository, glId, gitConfigOptions, gitProtocol } = await firstMessage(messages);
    if (glId === "") throw new CodedError("invalid_argument", "empty GlId");
    const path = targetPath(repository, deps.storageName);
    checkGitConfigOptions(gitConfigOptions);
    const consistency = new CallerConsistency(deps, call);
    yield* dataMessages(await deps.smartHttp.receivePack({ path, gitProtocol, signal: call.signal }, bodyAfterFirst(messages)));
    // git has its answer by now.
    await consistency.changed(path);
  };
}
