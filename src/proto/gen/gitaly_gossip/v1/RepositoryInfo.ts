// Original file: proto/gitaly_gossip/v1/cluster.proto

import type { Long } from '@grpc/proto-loader';

export interface RepositoryInfo {
  'relativePath'?: (string);
  'id'?: (string);
  'objectFormat'?: (string);
  'defaultBranch'?: (Buffer | Uint8Array | string);
  'generation'?: (number | string | Long);
  'replicas'?: (number);
  'sizeBytes'?: (number | string | Long);
  'refs'?: (number | string | Long);
  'packs'?: (number | string | Long);
  'createdAtMs'?: (number | string | Long);
  'updatedAtMs'?: (number | string | Long);
}

export interface RepositoryInfo__Output {
  'relativePath': (string);
  'id': (string);
  'objectFormat': (string);
  'defaultBranch': (Buffer);
  'generation': (string);
  'replicas': (number);
  'sizeBytes': (string);
  'refs': (string);
  'packs': (string);
  'createdAtMs': (string);
  'updatedAtMs': (string);
}
