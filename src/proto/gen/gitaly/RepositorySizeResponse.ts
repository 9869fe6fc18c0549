// Original file: proto/repository.proto

import type { Long } from '@grpc/proto-loader';

export interface RepositorySizeResponse {
  'size'?: (number | string | Long);
}

export interface RepositorySizeResponse__Output {
  'size': (string);
}
