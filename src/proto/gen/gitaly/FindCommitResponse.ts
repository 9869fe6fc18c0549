// Original file: proto/commit.proto

import type { GitCommit as _gitaly_GitCommit, GitCommit__Output as _gitaly_GitCommit__Output } from '../gitaly/GitCommit.ts';

export interface FindCommitResponse {
  'commit'?: (_gitaly_GitCommit | null);
}

export interface FindCommitResponse__Output {
  'commit': (_gitaly_GitCommit__Output | null);
}
