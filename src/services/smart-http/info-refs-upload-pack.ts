import type { InfoRefsRequest__Output } from "../../proto/gen/gitaly/InfoRefsRequest.ts";
import type { InfoRefsResponse } from "../../proto/gen/gitaly/InfoRefsResponse.ts";
import type { CallContext } from "../../rpc/index.ts";
import { type InfoRefsDeps, infoRefs } from "./info-refs.ts";

/** InfoRefsUploadPack: what `GET info/refs?service=git-upload-pack` answers. */
export function infoRefsUploadPack(deps: InfoRefsDeps) {
  return (request: InfoRefsRequest__Output, call: CallContext): AsyncIterable<InfoRefsResponse> =>
    infoRefs(deps, "git-upload-pack", request, call);
}
