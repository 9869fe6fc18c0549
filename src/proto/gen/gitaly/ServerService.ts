// Original file: proto/server.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { DiskStatisticsRequest as _gitaly_DiskStatisticsRequest, DiskStatisticsRequest__Output as _gitaly_DiskStatisticsRequest__Output } from '../gitaly/DiskStatisticsRequest.ts';
import type { DiskStatisticsResponse as _gitaly_DiskStatisticsResponse, DiskStatisticsResponse__Output as _gitaly_DiskStatisticsResponse__Output } from '../gitaly/DiskStatisticsResponse.ts';
import type { ReadinessCheckRequest as _gitaly_ReadinessCheckRequest, ReadinessCheckRequest__Output as _gitaly_ReadinessCheckRequest__Output } from '../gitaly/ReadinessCheckRequest.ts';
import type { ReadinessCheckResponse as _gitaly_ReadinessCheckResponse, ReadinessCheckResponse__Output as _gitaly_ReadinessCheckResponse__Output } from '../gitaly/ReadinessCheckResponse.ts';
import type { ServerInfoRequest as _gitaly_ServerInfoRequest, ServerInfoRequest__Output as _gitaly_ServerInfoRequest__Output } from '../gitaly/ServerInfoRequest.ts';
import type { ServerInfoResponse as _gitaly_ServerInfoResponse, ServerInfoResponse__Output as _gitaly_ServerInfoResponse__Output } from '../gitaly/ServerInfoResponse.ts';

export interface ServerServiceClient extends grpc.Client {
  DiskStatistics(argument: _gitaly_DiskStatisticsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_DiskStatisticsResponse__Output>): grpc.ClientUnaryCall;
  DiskStatistics(argument: _gitaly_DiskStatisticsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_DiskStatisticsResponse__Output>): grpc.ClientUnaryCall;
  DiskStatistics(argument: _gitaly_DiskStatisticsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_DiskStatisticsResponse__Output>): grpc.ClientUnaryCall;
  DiskStatistics(argument: _gitaly_DiskStatisticsRequest, callback: grpc.requestCallback<_gitaly_DiskStatisticsResponse__Output>): grpc.ClientUnaryCall;
  diskStatistics(argument: _gitaly_DiskStatisticsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_DiskStatisticsResponse__Output>): grpc.ClientUnaryCall;
  diskStatistics(argument: _gitaly_DiskStatisticsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_DiskStatisticsResponse__Output>): grpc.ClientUnaryCall;
  diskStatistics(argument: _gitaly_DiskStatisticsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_DiskStatisticsResponse__Output>): grpc.ClientUnaryCall;
  diskStatistics(argument: _gitaly_DiskStatisticsRequest, callback: grpc.requestCallback<_gitaly_DiskStatisticsResponse__Output>): grpc.ClientUnaryCall;
  
  ReadinessCheck(argument: _gitaly_ReadinessCheckRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_ReadinessCheckResponse__Output>): grpc.ClientUnaryCall;
  ReadinessCheck(argument: _gitaly_ReadinessCheckRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_ReadinessCheckResponse__Output>): grpc.ClientUnaryCall;
  ReadinessCheck(argument: _gitaly_ReadinessCheckRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_ReadinessCheckResponse__Output>): grpc.ClientUnaryCall;
  ReadinessCheck(argument: _gitaly_ReadinessCheckRequest, callback: grpc.requestCallback<_gitaly_ReadinessCheckResponse__Output>): grpc.ClientUnaryCall;
  readinessCheck(argument: _gitaly_ReadinessCheckRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_ReadinessCheckResponse__Output>): grpc.ClientUnaryCall;
  readinessCheck(argument: _gitaly_ReadinessCheckRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_ReadinessCheckResponse__Output>): grpc.ClientUnaryCall;
  readinessCheck(argument: _gitaly_ReadinessCheckRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_ReadinessCheckResponse__Output>): grpc.ClientUnaryCall;
  readinessCheck(argument: _gitaly_ReadinessCheckRequest, callback: grpc.requestCallback<_gitaly_ReadinessCheckResponse__Output>): grpc.ClientUnaryCall;
  
  ServerInfo(argument: _gitaly_ServerInfoRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_ServerInfoResponse__Output>): grpc.ClientUnaryCall;
  ServerInfo(argument: _gitaly_ServerInfoRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_ServerInfoResponse__Output>): grpc.ClientUnaryCall;
  ServerInfo(argument: _gitaly_ServerInfoRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_ServerInfoResponse__Output>): grpc.ClientUnaryCall;
  ServerInfo(argument: _gitaly_ServerInfoRequest, callback: grpc.requestCallback<_gitaly_ServerInfoResponse__Output>): grpc.ClientUnaryCall;
  serverInfo(argument: _gitaly_ServerInfoRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_ServerInfoResponse__Output>): grpc.ClientUnaryCall;
  serverInfo(argument: _gitaly_ServerInfoRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_ServerInfoResponse__Output>): grpc.ClientUnaryCall;
  serverInfo(argument: _gitaly_ServerInfoRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_ServerInfoResponse__Output>): grpc.ClientUnaryCall;
  serverInfo(argument: _gitaly_ServerInfoRequest, callback: grpc.requestCallback<_gitaly_ServerInfoResponse__Output>): grpc.ClientUnaryCall;
  
}

export interface ServerServiceHandlers extends grpc.UntypedServiceImplementation {
  DiskStatistics: grpc.handleUnaryCall<_gitaly_DiskStatisticsRequest__Output, _gitaly_DiskStatisticsResponse>;
  
  ReadinessCheck: grpc.handleUnaryCall<_gitaly_ReadinessCheckRequest__Output, _gitaly_ReadinessCheckResponse>;
  
  ServerInfo: grpc.handleUnaryCall<_gitaly_ServerInfoRequest__Output, _gitaly_ServerInfoResponse>;
  
}

export interface ServerServiceDefinition extends grpc.ServiceDefinition {
  DiskStatistics: MethodDefinition<_gitaly_DiskStatisticsRequest, _gitaly_DiskStatisticsResponse, _gitaly_DiskStatisticsRequest__Output, _gitaly_DiskStatisticsResponse__Output>
  ReadinessCheck: MethodDefinition<_gitaly_ReadinessCheckRequest, _gitaly_ReadinessCheckResponse, _gitaly_ReadinessCheckRequest__Output, _gitaly_ReadinessCheckResponse__Output>
  ServerInfo: MethodDefinition<_gitaly_ServerInfoRequest, _gitaly_ServerInfoResponse, _gitaly_ServerInfoRequest__Output, _gitaly_ServerInfoResponse__Output>
}
