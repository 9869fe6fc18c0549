// Original file: proto/gitaly_gossip/v1/generation.proto


export interface Settings {
  'replicas'?: (number);
  'placement'?: (string);
}

export interface Settings__Output {
  'replicas': (number);
  'placement': (string);
}
