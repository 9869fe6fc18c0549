// Original file: proto/gitaly_gossip/v1/cluster.proto

import type { Member as _gitaly_gossip_v1_Member, Member__Output as _gitaly_gossip_v1_Member__Output } from '../../gitaly_gossip/v1/Member.ts';

export interface ListMembersResponse {
  'members'?: (_gitaly_gossip_v1_Member)[];
  'ringFingerprint'?: (string);
}

export interface ListMembersResponse__Output {
  'members': (_gitaly_gossip_v1_Member__Output)[];
  'ringFingerprint': (string);
}
