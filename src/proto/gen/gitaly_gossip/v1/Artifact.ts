// Original file: proto/gitaly_gossip/v1/generation.proto

import type { Long } from '@grpc/proto-loader';

export interface Artifact {
  'name'?: (string);
  'sizeBytes'?: (number | string | Long);
}

export interface Artifact__Output {
  'name': (string);
  'sizeBytes': (string);
}
