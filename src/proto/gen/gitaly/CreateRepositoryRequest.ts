// Original file: proto/repository.proto

import type { Repository as _gitaly_Repository, Repository__Output as _gitaly_Repository__Output } from '../gitaly/Repository.ts';
import type { ObjectFormat as _gitaly_ObjectFormat, ObjectFormat__Output as _gitaly_ObjectFormat__Output } from '../gitaly/ObjectFormat.ts';

export interface CreateRepositoryRequest {
  'repository'?: (_gitaly_Repository | null);
  'defaultBranch'?: (Buffer | Uint8Array | string);
  'objectFormat'?: (_gitaly_ObjectFormat);
}

export interface CreateRepositoryRequest__Output {
  'repository': (_gitaly_Repository__Output | null);
  'defaultBranch': (Buffer);
  'objectFormat': (_gitaly_ObjectFormat__Output);
}
