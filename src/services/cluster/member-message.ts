import type { Member } from "../../proto/gen/gitaly_gossip/v1/Member.ts";
import type { MemberInfo } from "../../routing/index.ts";

/** A member as the wire has it. */
export function memberMessage(member: MemberInfo): Member {
  const { name, status, grpcAddress, grpcTls, httpUrl, gossipAddress, weight, zone, version } = member;
  return { name, status, grpcAddress, grpcTls, httpUrl, gossipAddress, weight, zone, version };
}
