// Original file: proto/shared.proto

import type { CommitAuthor as _gitaly_CommitAuthor, CommitAuthor__Output as _gitaly_CommitAuthor__Output } from '../gitaly/CommitAuthor.ts';
import type { SignatureType as _gitaly_SignatureType, SignatureType__Output as _gitaly_SignatureType__Output } from '../gitaly/SignatureType.ts';
import type { CommitTrailer as _gitaly_CommitTrailer, CommitTrailer__Output as _gitaly_CommitTrailer__Output } from '../gitaly/CommitTrailer.ts';
import type { CommitStatInfo as _gitaly_CommitStatInfo, CommitStatInfo__Output as _gitaly_CommitStatInfo__Output } from '../gitaly/CommitStatInfo.ts';
import type { Long } from '@grpc/proto-loader';

export interface GitCommit {
  'id'?: (string);
  'subject'?: (Buffer | Uint8Array | string);
  'body'?: (Buffer | Uint8Array | string);
  'author'?: (_gitaly_CommitAuthor | null);
  'committer'?: (_gitaly_CommitAuthor | null);
  'parentIds'?: (string)[];
  'bodySize'?: (number | string | Long);
  'signatureType'?: (_gitaly_SignatureType);
  'treeId'?: (string);
  'trailers'?: (_gitaly_CommitTrailer)[];
  'shortStats'?: (_gitaly_CommitStatInfo | null);
  'referencedBy'?: (Buffer | Uint8Array | string)[];
  'encoding'?: (string);
}

export interface GitCommit__Output {
  'id': (string);
  'subject': (Buffer);
  'body': (Buffer);
  'author': (_gitaly_CommitAuthor__Output | null);
  'committer': (_gitaly_CommitAuthor__Output | null);
  'parentIds': (string)[];
  'bodySize': (string);
  'signatureType': (_gitaly_SignatureType__Output);
  'treeId': (string);
  'trailers': (_gitaly_CommitTrailer__Output)[];
  'shortStats': (_gitaly_CommitStatInfo__Output | null);
  'referencedBy': (Buffer)[];
  'encoding': (string);
}
