// Original file: proto/gitaly_gossip/v1/cluster.proto

import type { RepositoryInfo as _gitaly_gossip_v1_RepositoryInfo, RepositoryInfo__Output as _gitaly_gossip_v1_RepositoryInfo__Output } from '../../gitaly_gossip/v1/RepositoryInfo.ts';
import type { PaginationCursor as _gitaly_PaginationCursor, PaginationCursor__Output as _gitaly_PaginationCursor__Output } from '../../gitaly/PaginationCursor.ts';

export interface ListRepositoriesResponse {
  'repositories'?: (_gitaly_gossip_v1_RepositoryInfo)[];
  'paginationCursor'?: (_gitaly_PaginationCursor | null);
}

export interface ListRepositoriesResponse__Output {
  'repositories': (_gitaly_gossip_v1_RepositoryInfo__Output)[];
  'paginationCursor': (_gitaly_PaginationCursor__Output | null);
}
