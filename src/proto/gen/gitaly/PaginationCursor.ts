// Original file: proto/shared.proto


export interface PaginationCursor {
  'nextCursor'?: (string);
}

export interface PaginationCursor__Output {
  'nextCursor': (string);
}
