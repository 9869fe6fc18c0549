// Original file: proto/gitaly_gossip/v1/cluster.proto


export interface BootstrapRequest {
  'node'?: (string);
}

export interface BootstrapRequest__Output {
  'node': (string);
}
