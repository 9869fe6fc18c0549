// Original file: proto/gitaly_gossip/v1/cluster.proto

import type { Long } from '@grpc/proto-loader';

export interface DatabaseServer {
  'host'?: (string);
  'role'?: (string);
  'usable'?: (boolean);
  'reason'?: (string);
  'lagBytes'?: (number | string | Long);
  'lagSeconds'?: (number | string);
  'position'?: (string);
  'inRecovery'?: (boolean);
  'readOnly'?: (boolean);
  '_lagBytes'?: "lagBytes";
  '_lagSeconds'?: "lagSeconds";
  '_inRecovery'?: "inRecovery";
  '_readOnly'?: "readOnly";
}

export interface DatabaseServer__Output {
  'host': (string);
  'role': (string);
  'usable': (boolean);
  'reason': (string);
  'lagBytes'?: (string);
  'lagSeconds'?: (number);
  'position': (string);
  'inRecovery'?: (boolean);
  'readOnly'?: (boolean);
  '_lagBytes'?: "lagBytes";
  '_lagSeconds'?: "lagSeconds";
  '_inRecovery'?: "inRecovery";
  '_readOnly'?: "readOnly";
}
