// Original file: proto/gitaly_gossip/v1/cluster.proto

import type { Repository as _gitaly_Repository, Repository__Output as _gitaly_Repository__Output } from '../../gitaly/Repository.ts';

export interface RouteRequest {
  'repository'?: (_gitaly_Repository | null);
}

export interface RouteRequest__Output {
  'repository': (_gitaly_Repository__Output | null);
}
