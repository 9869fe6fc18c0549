// Original file: proto/commit.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { FindCommitRequest as _gitaly_FindCommitRequest, FindCommitRequest__Output as _gitaly_FindCommitRequest__Output } from '../gitaly/FindCommitRequest.ts';
import type { FindCommitResponse as _gitaly_FindCommitResponse, FindCommitResponse__Output as _gitaly_FindCommitResponse__Output } from '../gitaly/FindCommitResponse.ts';

export interface CommitServiceClient extends grpc.Client {
  FindCommit(argument: _gitaly_FindCommitRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_FindCommitResponse__Output>): grpc.ClientUnaryCall;
  FindCommit(argument: _gitaly_FindCommitRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_FindCommitResponse__Output>): grpc.ClientUnaryCall;
  FindCommit(argument: _gitaly_FindCommitRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_FindCommitResponse__Output>): grpc.ClientUnaryCall;
  FindCommit(argument: _gitaly_FindCommitRequest, callback: grpc.requestCallback<_gitaly_FindCommitResponse__Output>): grpc.ClientUnaryCall;
  findCommit(argument: _gitaly_FindCommitRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_FindCommitResponse__Output>): grpc.ClientUnaryCall;
  findCommit(argument: _gitaly_FindCommitRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_FindCommitResponse__Output>): grpc.ClientUnaryCall;
  findCommit(argument: _gitaly_FindCommitRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_FindCommitResponse__Output>): grpc.ClientUnaryCall;
  findCommit(argument: _gitaly_FindCommitRequest, callback: grpc.requestCallback<_gitaly_FindCommitResponse__Output>): grpc.ClientUnaryCall;
  
}

export interface CommitServiceHandlers extends grpc.UntypedServiceImplementation {
  FindCommit: grpc.handleUnaryCall<_gitaly_FindCommitRequest__Output, _gitaly_FindCommitResponse>;
  
}

export interface CommitServiceDefinition extends grpc.ServiceDefinition {
  FindCommit: MethodDefinition<_gitaly_FindCommitRequest, _gitaly_FindCommitResponse, _gitaly_FindCommitRequest__Output, _gitaly_FindCommitResponse__Output>
}
