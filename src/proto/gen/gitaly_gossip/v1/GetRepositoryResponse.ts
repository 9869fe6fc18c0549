// Original file: proto/gitaly_gossip/v1/cluster.proto

import type { RepositoryInfo as _gitaly_gossip_v1_RepositoryInfo, RepositoryInfo__Output as _gitaly_gossip_v1_RepositoryInfo__Output } from '../../gitaly_gossip/v1/RepositoryInfo.ts';

export interface GetRepositoryResponse {
  'repository'?: (_gitaly_gossip_v1_RepositoryInfo | null);
}

export interface GetRepositoryResponse__Output {
  'repository': (_gitaly_gossip_v1_RepositoryInfo__Output | null);
}
