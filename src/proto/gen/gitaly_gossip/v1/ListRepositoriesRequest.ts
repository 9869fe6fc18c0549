// Original file: proto/gitaly_gossip/v1/cluster.proto

import type { PaginationParameter as _gitaly_PaginationParameter, PaginationParameter__Output as _gitaly_PaginationParameter__Output } from '../../gitaly/PaginationParameter.ts';

export interface ListRepositoriesRequest {
  'prefix'?: (string);
  'paginationParams'?: (_gitaly_PaginationParameter | null);
}

export interface ListRepositoriesRequest__Output {
  'prefix': (string);
  'paginationParams': (_gitaly_PaginationParameter__Output | null);
}
