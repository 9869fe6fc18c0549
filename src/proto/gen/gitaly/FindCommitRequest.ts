// Original file: proto/commit.proto

import type { Repository as _gitaly_Repository, Repository__Output as _gitaly_Repository__Output } from '../gitaly/Repository.ts';

export interface FindCommitRequest {
  'repository'?: (_gitaly_Repository | null);
  'revision'?: (Buffer | Uint8Array | string);
  'trailers'?: (boolean);
}

export interface FindCommitRequest__Output {
  'repository': (_gitaly_Repository__Output | null);
  'revision': (Buffer);
  'trailers': (boolean);
}
