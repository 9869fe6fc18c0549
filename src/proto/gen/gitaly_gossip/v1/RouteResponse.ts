// Original file: proto/gitaly_gossip/v1/cluster.proto


export interface _gitaly_gossip_v1_RouteResponse_Owner {
  'name'?: (string);
  'grpcAddress'?: (string);
  'httpUrl'?: (string);
  'zone'?: (string);
  'weight'?: (number | string);
  'siteHash'?: (string);
  'cost'?: (number | string);
}

export interface _gitaly_gossip_v1_RouteResponse_Owner__Output {
  'name': (string);
  'grpcAddress': (string);
  'httpUrl': (string);
  'zone': (string);
  'weight': (number);
  'siteHash': (string);
  'cost': (number);
}

export interface RouteResponse {
  'owners'?: (_gitaly_gossip_v1_RouteResponse_Owner)[];
  'replicas'?: (number);
  'ringFingerprint'?: (string);
  'repositoryHash'?: (string);
}

export interface RouteResponse__Output {
  'owners': (_gitaly_gossip_v1_RouteResponse_Owner__Output)[];
  'replicas': (number);
  'ringFingerprint': (string);
  'repositoryHash': (string);
}
