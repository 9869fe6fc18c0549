// Original file: proto/gitaly_gossip/v1/cluster.proto


// Original file: proto/gitaly_gossip/v1/cluster.proto

export const _gitaly_gossip_v1_NodeMeta_State = {
  STATE_UNSPECIFIED: 'STATE_UNSPECIFIED',
  STATE_WARMING: 'STATE_WARMING',
  STATE_READY: 'STATE_READY',
  STATE_DRAINING: 'STATE_DRAINING',
} as const;

export type _gitaly_gossip_v1_NodeMeta_State =
  | 'STATE_UNSPECIFIED'
  | 0
  | 'STATE_WARMING'
  | 1
  | 'STATE_READY'
  | 2
  | 'STATE_DRAINING'
  | 3

export type _gitaly_gossip_v1_NodeMeta_State__Output = typeof _gitaly_gossip_v1_NodeMeta_State[keyof typeof _gitaly_gossip_v1_NodeMeta_State]

export interface NodeMeta {
  'grpcAddress'?: (string);
  'grpcTls'?: (boolean);
  'httpUrl'?: (string);
  'weight'?: (number | string);
  'zone'?: (string);
  'state'?: (_gitaly_gossip_v1_NodeMeta_State);
  'ringHashVersion'?: (number);
  'version'?: (string);
  'clusterIdPrefix'?: (Buffer | Uint8Array | string);
}

export interface NodeMeta__Output {
  'grpcAddress': (string);
  'grpcTls': (boolean);
  'httpUrl': (string);
  'weight': (number);
  'zone': (string);
  'state': (_gitaly_gossip_v1_NodeMeta_State__Output);
  'ringHashVersion': (number);
  'version': (string);
  'clusterIdPrefix': (Buffer);
}
