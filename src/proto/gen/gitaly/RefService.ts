// Original file: proto/ref.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { FindDefaultBranchNameRequest as _gitaly_FindDefaultBranchNameRequest, FindDefaultBranchNameRequest__Output as _gitaly_FindDefaultBranchNameRequest__Output } from '../gitaly/FindDefaultBranchNameRequest.ts';
import type { FindDefaultBranchNameResponse as _gitaly_FindDefaultBranchNameResponse, FindDefaultBranchNameResponse__Output as _gitaly_FindDefaultBranchNameResponse__Output } from '../gitaly/FindDefaultBranchNameResponse.ts';
import type { ListRefsRequest as _gitaly_ListRefsRequest, ListRefsRequest__Output as _gitaly_ListRefsRequest__Output } from '../gitaly/ListRefsRequest.ts';
import type { ListRefsResponse as _gitaly_ListRefsResponse, ListRefsResponse__Output as _gitaly_ListRefsResponse__Output } from '../gitaly/ListRefsResponse.ts';

export interface RefServiceClient extends grpc.Client {
  FindDefaultBranchName(argument: _gitaly_FindDefaultBranchNameRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_FindDefaultBranchNameResponse__Output>): grpc.ClientUnaryCall;
  FindDefaultBranchName(argument: _gitaly_FindDefaultBranchNameRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_FindDefaultBranchNameResponse__Output>): grpc.ClientUnaryCall;
  FindDefaultBranchName(argument: _gitaly_FindDefaultBranchNameRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_FindDefaultBranchNameResponse__Output>): grpc.ClientUnaryCall;
  FindDefaultBranchName(argument: _gitaly_FindDefaultBranchNameRequest, callback: grpc.requestCallback<_gitaly_FindDefaultBranchNameResponse__Output>): grpc.ClientUnaryCall;
  findDefaultBranchName(argument: _gitaly_FindDefaultBranchNameRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_FindDefaultBranchNameResponse__Output>): grpc.ClientUnaryCall;
  findDefaultBranchName(argument: _gitaly_FindDefaultBranchNameRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_FindDefaultBranchNameResponse__Output>): grpc.ClientUnaryCall;
  findDefaultBranchName(argument: _gitaly_FindDefaultBranchNameRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_FindDefaultBranchNameResponse__Output>): grpc.ClientUnaryCall;
  findDefaultBranchName(argument: _gitaly_FindDefaultBranchNameRequest, callback: grpc.requestCallback<_gitaly_FindDefaultBranchNameResponse__Output>): grpc.ClientUnaryCall;
  
  ListRefs(argument: _gitaly_ListRefsRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_ListRefsResponse__Output>;
  ListRefs(argument: _gitaly_ListRefsRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_ListRefsResponse__Output>;
  listRefs(argument: _gitaly_ListRefsRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_ListRefsResponse__Output>;
  listRefs(argument: _gitaly_ListRefsRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_ListRefsResponse__Output>;
  
}

export interface RefServiceHandlers extends grpc.UntypedServiceImplementation {
  FindDefaultBranchName: grpc.handleUnaryCall<_gitaly_FindDefaultBranchNameRequest__Output, _gitaly_FindDefaultBranchNameResponse>;
  
  ListRefs: grpc.handleServerStreamingCall<_gitaly_ListRefsRequest__Output, _gitaly_ListRefsResponse>;
  
}

export interface RefServiceDefinition extends grpc.ServiceDefinition {
  FindDefaultBranchName: MethodDefinition<_gitaly_FindDefaultBranchNameRequest, _gitaly_FindDefaultBranchNameResponse, _gitaly_FindDefaultBranchNameRequest__Output, _gitaly_FindDefaultBranchNameResponse__Output>
  ListRefs: MethodDefinition<_gitaly_ListRefsRequest, _gitaly_ListRefsResponse, _gitaly_ListRefsRequest__Output, _gitaly_ListRefsResponse__Output>
}
