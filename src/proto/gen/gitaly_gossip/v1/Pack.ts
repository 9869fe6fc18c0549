// Original file: proto/gitaly_gossip/v1/generation.proto

import type { Artifact as _gitaly_gossip_v1_Artifact, Artifact__Output as _gitaly_gossip_v1_Artifact__Output } from '../../gitaly_gossip/v1/Artifact.ts';
import type { Long } from '@grpc/proto-loader';

export interface Pack {
  'pack'?: (_gitaly_gossip_v1_Artifact | null);
  'index'?: (_gitaly_gossip_v1_Artifact | null);
  'reverseIndex'?: (_gitaly_gossip_v1_Artifact | null);
  'bitmap'?: (_gitaly_gossip_v1_Artifact | null);
  'objectCount'?: (number | string | Long);
}

export interface Pack__Output {
  'pack': (_gitaly_gossip_v1_Artifact__Output | null);
  'index': (_gitaly_gossip_v1_Artifact__Output | null);
  'reverseIndex': (_gitaly_gossip_v1_Artifact__Output | null);
  'bitmap': (_gitaly_gossip_v1_Artifact__Output | null);
  'objectCount': (string);
}
