import type { ListMembersResponse } from "../../proto/gen/gitaly_gossip/v1/ListMembersResponse.ts";
import type { ServicesDeps } from "../services-deps.ts";
import { memberMessage } from "./member-message.ts";

/** ListMembers: every member this node knows of, itself included. */
export function listMembers(deps: Pick<ServicesDeps, "view">) {
  return async (): Promise<ListMembersResponse> => {
    const { members, ring } = deps.view();
    return { members: members.map(memberMessage), ringFingerprint: ring.fingerprint };
  };
}
