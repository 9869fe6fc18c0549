// Original file: proto/smarthttp.proto

import type { Repository as _gitaly_Repository, Repository__Output as _gitaly_Repository__Output } from '../gitaly/Repository.ts';

export interface PostReceivePackRequest {
  'repository'?: (_gitaly_Repository | null);
  'data'?: (Buffer | Uint8Array | string);
  'glId'?: (string);
  'glRepository'?: (string);
  'glUsername'?: (string);
  'gitProtocol'?: (string);
  'gitConfigOptions'?: (string)[];
}

export interface PostReceivePackRequest__Output {
  'repository': (_gitaly_Repository__Output | null);
  'data': (Buffer);
  'glId': (string);
  'glRepository': (string);
  'glUsername': (string);
  'gitProtocol': (string);
  'gitConfigOptions': (string)[];
}
