import { CodedError } from "../../base/index.ts";
import type { PostReceivePackRequest__Output } from "../../proto/gen/gitaly/PostReceivePackRequest.ts";
import type { PostReceivePackResponse } from "../../proto/gen/gitaly/PostReceivePackResponse.ts";
import { type CallContext, targetPath } from "../../rpc/index.ts";
import { dataMessages } from "./byte-messages.ts";
import { checkGitConfigOptions } from "./git-config-options.ts";
import type { InfoRefsDeps } from "./info-refs.ts";
import { bodyAfterFirst, firstMessage } from "./request-body.ts";

/** PostReceivePack: what `POST git-receive-pack` does, body and answer as messages. */
export function postReceivePack(deps: InfoRefsDeps) {
  return async function* (
    requests: AsyncIterable<PostReceivePackRequest__Output>,
    call: CallContext,
  ): AsyncGenerator<PostReceivePackResponse> {
    const messages = requests[Symbol.asyncIterator]();
    const { repository, glId, gitConfigOptions, gitProtocol } = await firstMessage(messages);
    if (glId === "") throw new CodedError("invalid_argument", "empty GlId");
    const path = targetPath(repository, deps.storageName);
    checkGitConfigOptions(gitConfigOptions);
    yield* dataMessages(await deps.smartHttp.receivePack({ path, gitProtocol, signal: call.signal }, bodyAfterFirst(messages)));
  };
}
