// Original file: proto/smarthttp.proto

import type { Repository as _gitaly_Repository, Repository__Output as _gitaly_Repository__Output } from '../gitaly/Repository.ts';

export interface PostUploadPackRequest {
  'repository'?: (_gitaly_Repository | null);
  'data'?: (Buffer | Uint8Array | string);
  'gitConfigOptions'?: (string)[];
  'gitProtocol'?: (string);
}

export interface PostUploadPackRequest__Output {
  'repository': (_gitaly_Repository__Output | null);
  'data': (Buffer);
  'gitConfigOptions': (string)[];
  'gitProtocol': (string);
}
