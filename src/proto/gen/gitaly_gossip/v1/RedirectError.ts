// Original file: proto/gitaly_gossip/v1/redirect.proto


export interface _gitaly_gossip_v1_RedirectError_Owner {
  'node'?: (string);
  'address'?: (string);
  'zone'?: (string);
}

export interface _gitaly_gossip_v1_RedirectError_Owner__Output {
  'node': (string);
  'address': (string);
  'zone': (string);
}

export interface RedirectError {
  'owners'?: (_gitaly_gossip_v1_RedirectError_Owner)[];
  'ringFingerprint'?: (string);
}

export interface RedirectError__Output {
  'owners': (_gitaly_gossip_v1_RedirectError_Owner__Output)[];
  'ringFingerprint': (string);
}
