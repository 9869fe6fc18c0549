// Original file: proto/ref.proto

import type { Repository as _gitaly_Repository, Repository__Output as _gitaly_Repository__Output } from '../gitaly/Repository.ts';

export interface FindDefaultBranchNameRequest {
  'repository'?: (_gitaly_Repository | null);
  'headOnly'?: (boolean);
}

export interface FindDefaultBranchNameRequest__Output {
  'repository': (_gitaly_Repository__Output | null);
  'headOnly': (boolean);
}
