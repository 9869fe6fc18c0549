// Original file: proto/gitaly_gossip/v1/cluster.proto

import type { Long } from '@grpc/proto-loader';

export interface BootstrapResponse {
  'clusterId'?: (string);
  'node'?: (string);
  'objectStorageUrl'?: (string);
  'objectStorageEmbedded'?: (boolean);
  'databaseDirectory'?: (string);
  'databaseUrls'?: (string)[];
  'gossipAddresses'?: (string)[];
  'replicas'?: (number);
  'hashSeed'?: (number | string | Long);
}

export interface BootstrapResponse__Output {
  'clusterId': (string);
  'node': (string);
  'objectStorageUrl': (string);
  'objectStorageEmbedded': (boolean);
  'databaseDirectory': (string);
  'databaseUrls': (string)[];
  'gossipAddresses': (string)[];
  'replicas': (number);
  'hashSeed': (string);
}
