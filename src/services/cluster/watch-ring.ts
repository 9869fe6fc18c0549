import type { WatchRingRequest__Output } from "../../proto/gen/gitaly_gossip/v1/WatchRingRequest.ts";
import type { WatchRingResponse } from "../../proto/gen/gitaly_gossip/v1/WatchRingResponse.ts";
import type { MemberView } from "../../routing/index.ts";
import type { CallContext } from "../../rpc/index.ts";
import type { ServicesDeps } from "../services-deps.ts";
import { memberMessage } from "./member-message.ts";

/** WatchRing: the ring now, and again whenever anything it says of the sites differs, until the call ends. A slow reader misses steps, never the newest. */
export function watchRing(deps: Pick<ServicesDeps, "view" | "onViewChange">) {
  return async function* (_request: WatchRingRequest__Output, call: CallContext): AsyncGenerator<WatchRingResponse> {
    const { signal } = call;
    let changed = true;
    let wake = () => {};
    using _subscription = deps.onViewChange(() => {
      changed = true;
      wake();
    });
    const onAbort = () => wake();
    signal.addEventListener("abort", onAbort);
    try {
      let sent = "";
      while (!signal.aborted) {
        if (!changed) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        changed = false;
        const message = ringMessage(deps.view());
        const text = JSON.stringify(message);
        if (text === sent) continue;
        sent = text;
        yield message;
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  };
}

function ringMessage({ members, ring }: MemberView): WatchRingResponse {
  const sites = new Set(ring.sites.map(({ name }) => name));
  return {
    ringFingerprint: ring.fingerprint,
    replicas: ring.replicas,
    hashSeed: String(ring.seed),
    sites: members.filter(({ name }) => sites.has(name)).map(memberMessage),
  };
}
