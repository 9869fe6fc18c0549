import type { PostUploadPackRequest__Output } from "../../proto/gen/gitaly/PostUploadPackRequest.ts";
import type { PostUploadPackResponse } from "../../proto/gen/gitaly/PostUploadPackResponse.ts";
import { type CallContext, targetPath } from "../../rpc/index.ts";
import { dataMessages } from "./byte-messages.ts";
import { checkGitConfigOptions } from "./git-config-options.ts";
import type { InfoRefsDeps } from "./info-refs.ts";
import { bodyAfterFirst, firstMessage } from "./request-body.ts";

/** PostUploadPack: what `POST git-upload-pack` does, body and answer as messages. */
export function postUploadPack(deps: InfoRefsDeps) {
  return async function* (
    requests: AsyncIterable<PostUploadPackRequest__Output>,
    call: CallContext,
  ): AsyncGenerator<PostUploadPackResponse> {
    const messages = requests[Symbol.asyncIterator]();
    const { repository, gitConfigOptions, gitProtocol } = await firstMessage(messages);
    const path = targetPath(repository, deps.storageName);
    checkGitConfigOptions(gitConfigOptions);
    yield* dataMessages(await deps.smartHttp.uploadPack({ path, gitProtocol, signal: call.signal }, bodyAfterFirst(messages)));
  };
}
