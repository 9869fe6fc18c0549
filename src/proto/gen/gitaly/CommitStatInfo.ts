// Original file: proto/shared.proto


export interface CommitStatInfo {
  'additions'?: (number);
  'deletions'?: (number);
  'changedFiles'?: (number);
}

export interface CommitStatInfo__Output {
  'additions': (number);
  'deletions': (number);
  'changedFiles': (number);
}
