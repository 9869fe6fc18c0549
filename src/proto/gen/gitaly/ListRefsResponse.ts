// Original file: proto/ref.proto

import type { PaginationCursor as _gitaly_PaginationCursor, PaginationCursor__Output as _gitaly_PaginationCursor__Output } from '../gitaly/PaginationCursor.ts';

export interface _gitaly_ListRefsResponse_Reference {
  'name'?: (Buffer | Uint8Array | string);
  'target'?: (string);
  'peeledTarget'?: (string);
}

export interface _gitaly_ListRefsResponse_Reference__Output {
  'name': (Buffer);
  'target': (string);
  'peeledTarget': (string);
}

export interface ListRefsResponse {
  'references'?: (_gitaly_ListRefsResponse_Reference)[];
  'paginationCursor'?: (_gitaly_PaginationCursor | null);
}

export interface ListRefsResponse__Output {
  'references': (_gitaly_ListRefsResponse_Reference__Output)[];
  'paginationCursor': (_gitaly_PaginationCursor__Output | null);
}
