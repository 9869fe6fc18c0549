import type { InfoRefsRequest__Output } from "../../proto/gen/gitaly/InfoRefsRequest.ts";
import type { InfoRefsResponse } from "../../proto/gen/gitaly/InfoRefsResponse.ts";
import type { CallContext } from "../../rpc/index.ts";
import { type InfoRefsDeps, infoRefs } from "./info-refs.ts";

/** InfoRefsReceivePack: what `GET info/refs?service=git-receive-pack` answers. */
export function infoRefsReceivePack(deps: InfoRefsDeps) {
  return (request: InfoRefsRequest__Output, call: CallContext): AsyncIterable<InfoRefsResponse> =>
    infoRefs(deps, "git-receive-pack", request, call);
}
