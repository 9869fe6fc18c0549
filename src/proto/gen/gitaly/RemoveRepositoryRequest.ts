// Original file: proto/repository.proto

import type { Repository as _gitaly_Repository, Repository__Output as _gitaly_Repository__Output } from '../gitaly/Repository.ts';

export interface RemoveRepositoryRequest {
  'repository'?: (_gitaly_Repository | null);
}

export interface RemoveRepositoryRequest__Output {
  'repository': (_gitaly_Repository__Output | null);
}
