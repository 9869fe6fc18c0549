// Original file: proto/repository.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { CreateRepositoryRequest as _gitaly_CreateRepositoryRequest, CreateRepositoryRequest__Output as _gitaly_CreateRepositoryRequest__Output } from '../gitaly/CreateRepositoryRequest.ts';
import type { CreateRepositoryResponse as _gitaly_CreateRepositoryResponse, CreateRepositoryResponse__Output as _gitaly_CreateRepositoryResponse__Output } from '../gitaly/CreateRepositoryResponse.ts';
import type { RemoveRepositoryRequest as _gitaly_RemoveRepositoryRequest, RemoveRepositoryRequest__Output as _gitaly_RemoveRepositoryRequest__Output } from '../gitaly/RemoveRepositoryRequest.ts';
import type { RemoveRepositoryResponse as _gitaly_RemoveRepositoryResponse, RemoveRepositoryResponse__Output as _gitaly_RemoveRepositoryResponse__Output } from '../gitaly/RemoveRepositoryResponse.ts';
import type { RepositoryExistsRequest as _gitaly_RepositoryExistsRequest, RepositoryExistsRequest__Output as _gitaly_RepositoryExistsRequest__Output } from '../gitaly/RepositoryExistsRequest.ts';
import type { RepositoryExistsResponse as _gitaly_RepositoryExistsResponse, RepositoryExistsResponse__Output as _gitaly_RepositoryExistsResponse__Output } from '../gitaly/RepositoryExistsResponse.ts';
import type { RepositorySizeRequest as _gitaly_RepositorySizeRequest, RepositorySizeRequest__Output as _gitaly_RepositorySizeRequest__Output } from '../gitaly/RepositorySizeRequest.ts';
import type { RepositorySizeResponse as _gitaly_RepositorySizeResponse, RepositorySizeResponse__Output as _gitaly_RepositorySizeResponse__Output } from '../gitaly/RepositorySizeResponse.ts';

export interface RepositoryServiceClient extends grpc.Client {
  CreateRepository(argument: _gitaly_CreateRepositoryRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_CreateRepositoryResponse__Output>): grpc.ClientUnaryCall;
  CreateRepository(argument: _gitaly_CreateRepositoryRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_CreateRepositoryResponse__Output>): grpc.ClientUnaryCall;
  CreateRepository(argument: _gitaly_CreateRepositoryRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_CreateRepositoryResponse__Output>): grpc.ClientUnaryCall;
  CreateRepository(argument: _gitaly_CreateRepositoryRequest, callback: grpc.requestCallback<_gitaly_CreateRepositoryResponse__Output>): grpc.ClientUnaryCall;
  createRepository(argument: _gitaly_CreateRepositoryRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_CreateRepositoryResponse__Output>): grpc.ClientUnaryCall;
  createRepository(argument: _gitaly_CreateRepositoryRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_CreateRepositoryResponse__Output>): grpc.ClientUnaryCall;
  createRepository(argument: _gitaly_CreateRepositoryRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_CreateRepositoryResponse__Output>): grpc.ClientUnaryCall;
  createRepository(argument: _gitaly_CreateRepositoryRequest, callback: grpc.requestCallback<_gitaly_CreateRepositoryResponse__Output>): grpc.ClientUnaryCall;
  
  RemoveRepository(argument: _gitaly_RemoveRepositoryRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_RemoveRepositoryResponse__Output>): grpc.ClientUnaryCall;
  RemoveRepository(argument: _gitaly_RemoveRepositoryRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_RemoveRepositoryResponse__Output>): grpc.ClientUnaryCall;
  RemoveRepository(argument: _gitaly_RemoveRepositoryRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_RemoveRepositoryResponse__Output>): grpc.ClientUnaryCall;
  RemoveRepository(argument: _gitaly_RemoveRepositoryRequest, callback: grpc.requestCallback<_gitaly_RemoveRepositoryResponse__Output>): grpc.ClientUnaryCall;
  removeRepository(argument: _gitaly_RemoveRepositoryRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_RemoveRepositoryResponse__Output>): grpc.ClientUnaryCall;
  removeRepository(argument: _gitaly_RemoveRepositoryRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_RemoveRepositoryResponse__Output>): grpc.ClientUnaryCall;
  removeRepository(argument: _gitaly_RemoveRepositoryRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_RemoveRepositoryResponse__Output>): grpc.ClientUnaryCall;
  removeRepository(argument: _gitaly_RemoveRepositoryRequest, callback: grpc.requestCallback<_gitaly_RemoveRepositoryResponse__Output>): grpc.ClientUnaryCall;
  
  RepositoryExists(argument: _gitaly_RepositoryExistsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_RepositoryExistsResponse__Output>): grpc.ClientUnaryCall;
  RepositoryExists(argument: _gitaly_RepositoryExistsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_RepositoryExistsResponse__Output>): grpc.ClientUnaryCall;
  RepositoryExists(argument: _gitaly_RepositoryExistsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_RepositoryExistsResponse__Output>): grpc.ClientUnaryCall;
  RepositoryExists(argument: _gitaly_RepositoryExistsRequest, callback: grpc.requestCallback<_gitaly_RepositoryExistsResponse__Output>): grpc.ClientUnaryCall;
  repositoryExists(argument: _gitaly_RepositoryExistsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_RepositoryExistsResponse__Output>): grpc.ClientUnaryCall;
  repositoryExists(argument: _gitaly_RepositoryExistsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_RepositoryExistsResponse__Output>): grpc.ClientUnaryCall;
  repositoryExists(argument: _gitaly_RepositoryExistsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_RepositoryExistsResponse__Output>): grpc.ClientUnaryCall;
  repositoryExists(argument: _gitaly_RepositoryExistsRequest, callback: grpc.requestCallback<_gitaly_RepositoryExistsResponse__Output>): grpc.ClientUnaryCall;
  
  RepositorySize(argument: _gitaly_RepositorySizeRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_RepositorySizeResponse__Output>): grpc.ClientUnaryCall;
  RepositorySize(argument: _gitaly_RepositorySizeRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_RepositorySizeResponse__Output>): grpc.ClientUnaryCall;
  RepositorySize(argument: _gitaly_RepositorySizeRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_RepositorySizeResponse__Output>): grpc.ClientUnaryCall;
  RepositorySize(argument: _gitaly_RepositorySizeRequest, callback: grpc.requestCallback<_gitaly_RepositorySizeResponse__Output>): grpc.ClientUnaryCall;
  repositorySize(argument: _gitaly_RepositorySizeRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_RepositorySizeResponse__Output>): grpc.ClientUnaryCall;
  repositorySize(argument: _gitaly_RepositorySizeRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_RepositorySizeResponse__Output>): grpc.ClientUnaryCall;
  repositorySize(argument: _gitaly_RepositorySizeRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_RepositorySizeResponse__Output>): grpc.ClientUnaryCall;
  repositorySize(argument: _gitaly_RepositorySizeRequest, callback: grpc.requestCallback<_gitaly_RepositorySizeResponse__Output>): grpc.ClientUnaryCall;
  
}

export interface RepositoryServiceHandlers extends grpc.UntypedServiceImplementation {
  CreateRepository: grpc.handleUnaryCall<_gitaly_CreateRepositoryRequest__Output, _gitaly_CreateRepositoryResponse>;
  
  RemoveRepository: grpc.handleUnaryCall<_gitaly_RemoveRepositoryRequest__Output, _gitaly_RemoveRepositoryResponse>;
  
  RepositoryExists: grpc.handleUnaryCall<_gitaly_RepositoryExistsRequest__Output, _gitaly_RepositoryExistsResponse>;
  
  RepositorySize: grpc.handleUnaryCall<_gitaly_RepositorySizeRequest__Output, _gitaly_RepositorySizeResponse>;
  
}

export interface RepositoryServiceDefinition extends grpc.ServiceDefinition {
  CreateRepository: MethodDefinition<_gitaly_CreateRepositoryRequest, _gitaly_CreateRepositoryResponse, _gitaly_CreateRepositoryRequest__Output, _gitaly_CreateRepositoryResponse__Output>
  RemoveRepository: MethodDefinition<_gitaly_RemoveRepositoryRequest, _gitaly_RemoveRepositoryResponse, _gitaly_RemoveRepositoryRequest__Output, _gitaly_RemoveRepositoryResponse__Output>
  RepositoryExists: MethodDefinition<_gitaly_RepositoryExistsRequest, _gitaly_RepositoryExistsResponse, _gitaly_RepositoryExistsRequest__Output, _gitaly_RepositoryExistsResponse__Output>
  RepositorySize: MethodDefinition<_gitaly_RepositorySizeRequest, _gitaly_RepositorySizeResponse, _gitaly_RepositorySizeRequest__Output, _gitaly_RepositorySizeResponse__Output>
}
