// Original file: proto/shared.proto


export interface PaginationParameter {
  'pageToken'?: (string);
  'limit'?: (number);
}

export interface PaginationParameter__Output {
  'pageToken': (string);
  'limit': (number);
}
