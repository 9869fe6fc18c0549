// Original file: proto/server.proto

import type { Long } from '@grpc/proto-loader';

export interface _gitaly_DiskStatisticsResponse_StorageStatus {
  'storageName'?: (string);
  'available'?: (number | string | Long);
  'used'?: (number | string | Long);
}

export interface _gitaly_DiskStatisticsResponse_StorageStatus__Output {
  'storageName': (string);
  'available': (string);
  'used': (string);
}

export interface DiskStatisticsResponse {
  'storageStatuses'?: (_gitaly_DiskStatisticsResponse_StorageStatus)[];
}

export interface DiskStatisticsResponse__Output {
  'storageStatuses': (_gitaly_DiskStatisticsResponse_StorageStatus__Output)[];
}
