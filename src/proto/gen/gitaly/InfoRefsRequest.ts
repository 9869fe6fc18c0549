// Original file: proto/smarthttp.proto

import type { Repository as _gitaly_Repository, Repository__Output as _gitaly_Repository__Output } from '../gitaly/Repository.ts';

export interface InfoRefsRequest {
  'repository'?: (_gitaly_Repository | null);
  'gitConfigOptions'?: (string)[];
  'gitProtocol'?: (string);
}

export interface InfoRefsRequest__Output {
  'repository': (_gitaly_Repository__Output | null);
  'gitConfigOptions': (string)[];
  'gitProtocol': (string);
}
