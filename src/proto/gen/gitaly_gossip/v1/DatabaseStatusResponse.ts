// Original file: proto/gitaly_gossip/v1/cluster.proto

import type { DatabaseServer as _gitaly_gossip_v1_DatabaseServer, DatabaseServer__Output as _gitaly_gossip_v1_DatabaseServer__Output } from '../../gitaly_gossip/v1/DatabaseServer.ts';

export interface DatabaseStatusResponse {
  'servers'?: (_gitaly_gossip_v1_DatabaseServer)[];
  'discoveryAgeSeconds'?: (number | string);
  '_discoveryAgeSeconds'?: "discoveryAgeSeconds";
}

export interface DatabaseStatusResponse__Output {
  'servers': (_gitaly_gossip_v1_DatabaseServer__Output)[];
  'discoveryAgeSeconds'?: (number);
  '_discoveryAgeSeconds'?: "discoveryAgeSeconds";
}
