// Original file: proto/gitaly_gossip/v1/cluster.proto


export interface Member {
  'name'?: (string);
  'status'?: (string);
  'grpcAddress'?: (string);
  'httpUrl'?: (string);
  'gossipAddress'?: (string);
  'weight'?: (number | string);
  'zone'?: (string);
  'version'?: (string);
  'grpcTls'?: (boolean);
}

export interface Member__Output {
  'name': (string);
  'status': (string);
  'grpcAddress': (string);
  'httpUrl': (string);
  'gossipAddress': (string);
  'weight': (number);
  'zone': (string);
  'version': (string);
  'grpcTls': (boolean);
}
