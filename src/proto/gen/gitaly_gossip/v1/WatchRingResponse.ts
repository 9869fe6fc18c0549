// Original file: proto/gitaly_gossip/v1/cluster.proto

import type { Member as _gitaly_gossip_v1_Member, Member__Output as _gitaly_gossip_v1_Member__Output } from '../../gitaly_gossip/v1/Member.ts';
import type { Long } from '@grpc/proto-loader';

export interface WatchRingResponse {
  'ringFingerprint'?: (string);
  'replicas'?: (number);
  'hashSeed'?: (number | string | Long);
  'sites'?: (_gitaly_gossip_v1_Member)[];
}

export interface WatchRingResponse__Output {
  'ringFingerprint': (string);
  'replicas': (number);
  'hashSeed': (string);
  'sites': (_gitaly_gossip_v1_Member__Output)[];
}
