// Original file: proto/gitaly_gossip/v1/cluster.proto


export interface PushPullState {
  'clusterId'?: (string);
}

export interface PushPullState__Output {
  'clusterId': (string);
}
