// Original file: proto/ref.proto

import type { Repository as _gitaly_Repository, Repository__Output as _gitaly_Repository__Output } from '../gitaly/Repository.ts';
import type { PaginationParameter as _gitaly_PaginationParameter, PaginationParameter__Output as _gitaly_PaginationParameter__Output } from '../gitaly/PaginationParameter.ts';
import type { SortDirection as _gitaly_SortDirection, SortDirection__Output as _gitaly_SortDirection__Output } from '../gitaly/SortDirection.ts';

// Original file: proto/ref.proto

export const _gitaly_ListRefsRequest_SortBy_Key = {
  REFNAME: 'REFNAME',
  CREATORDATE: 'CREATORDATE',
  AUTHORDATE: 'AUTHORDATE',
  COMMITTERDATE: 'COMMITTERDATE',
} as const;

export type _gitaly_ListRefsRequest_SortBy_Key =
  | 'REFNAME'
  | 0
  | 'CREATORDATE'
  | 1
  | 'AUTHORDATE'
  | 2
  | 'COMMITTERDATE'
  | 3

export type _gitaly_ListRefsRequest_SortBy_Key__Output = typeof _gitaly_ListRefsRequest_SortBy_Key[keyof typeof _gitaly_ListRefsRequest_SortBy_Key]

export interface _gitaly_ListRefsRequest_SortBy {
  'key'?: (_gitaly_ListRefsRequest_SortBy_Key);
  'direction'?: (_gitaly_SortDirection);
}

export interface _gitaly_ListRefsRequest_SortBy__Output {
  'key': (_gitaly_ListRefsRequest_SortBy_Key__Output);
  'direction': (_gitaly_SortDirection__Output);
}

export interface ListRefsRequest {
  'repository'?: (_gitaly_Repository | null);
  'patterns'?: (Buffer | Uint8Array | string)[];
  'head'?: (boolean);
  'sortBy'?: (_gitaly_ListRefsRequest_SortBy | null);
  'pointingAtOids'?: (Buffer | Uint8Array | string)[];
  'peelTags'?: (boolean);
  'paginationParams'?: (_gitaly_PaginationParameter | null);
}

export interface ListRefsRequest__Output {
  'repository': (_gitaly_Repository__Output | null);
  'patterns': (Buffer)[];
  'head': (boolean);
  'sortBy': (_gitaly_ListRefsRequest_SortBy__Output | null);
  'pointingAtOids': (Buffer)[];
  'peelTags': (boolean);
  'paginationParams': (_gitaly_PaginationParameter__Output | null);
}
