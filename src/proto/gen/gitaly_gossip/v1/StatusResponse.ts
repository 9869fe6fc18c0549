// Original file: proto/gitaly_gossip/v1/cluster.proto

import type { Long } from '@grpc/proto-loader';

export interface _gitaly_gossip_v1_StatusResponse_Check {
  'name'?: (string);
  'ok'?: (boolean);
  'message'?: (string);
}

export interface _gitaly_gossip_v1_StatusResponse_Check__Output {
  'name': (string);
  'ok': (boolean);
  'message': (string);
}

export interface StatusResponse {
  'node'?: (string);
  'clusterId'?: (string);
  'state'?: (string);
  'version'?: (string);
  'gitVersion'?: (string);
  'uptimeSeconds'?: (number | string | Long);
  'ringFingerprint'?: (string);
  'memberCount'?: (number);
  'siteCount'?: (number);
  'checks'?: (_gitaly_gossip_v1_StatusResponse_Check)[];
  'objectStorage'?: (string);
  'database'?: (string);
  'cacheBytes'?: (number | string | Long);
}

export interface StatusResponse__Output {
  'node': (string);
  'clusterId': (string);
  'state': (string);
  'version': (string);
  'gitVersion': (string);
  'uptimeSeconds': (string);
  'ringFingerprint': (string);
  'memberCount': (number);
  'siteCount': (number);
  'checks': (_gitaly_gossip_v1_StatusResponse_Check__Output)[];
  'objectStorage': (string);
  'database': (string);
  'cacheBytes': (string);
}
