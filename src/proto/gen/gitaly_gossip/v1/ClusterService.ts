// Original file: proto/gitaly_gossip/v1/cluster.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { BootstrapRequest as _gitaly_gossip_v1_BootstrapRequest, BootstrapRequest__Output as _gitaly_gossip_v1_BootstrapRequest__Output } from '../../gitaly_gossip/v1/BootstrapRequest.ts';
import type { BootstrapResponse as _gitaly_gossip_v1_BootstrapResponse, BootstrapResponse__Output as _gitaly_gossip_v1_BootstrapResponse__Output } from '../../gitaly_gossip/v1/BootstrapResponse.ts';
import type { DatabaseStatusRequest as _gitaly_gossip_v1_DatabaseStatusRequest, DatabaseStatusRequest__Output as _gitaly_gossip_v1_DatabaseStatusRequest__Output } from '../../gitaly_gossip/v1/DatabaseStatusRequest.ts';
import type { DatabaseStatusResponse as _gitaly_gossip_v1_DatabaseStatusResponse, DatabaseStatusResponse__Output as _gitaly_gossip_v1_DatabaseStatusResponse__Output } from '../../gitaly_gossip/v1/DatabaseStatusResponse.ts';
import type { GetRepositoryRequest as _gitaly_gossip_v1_GetRepositoryRequest, GetRepositoryRequest__Output as _gitaly_gossip_v1_GetRepositoryRequest__Output } from '../../gitaly_gossip/v1/GetRepositoryRequest.ts';
import type { GetRepositoryResponse as _gitaly_gossip_v1_GetRepositoryResponse, GetRepositoryResponse__Output as _gitaly_gossip_v1_GetRepositoryResponse__Output } from '../../gitaly_gossip/v1/GetRepositoryResponse.ts';
import type { ListMembersRequest as _gitaly_gossip_v1_ListMembersRequest, ListMembersRequest__Output as _gitaly_gossip_v1_ListMembersRequest__Output } from '../../gitaly_gossip/v1/ListMembersRequest.ts';
import type { ListMembersResponse as _gitaly_gossip_v1_ListMembersResponse, ListMembersResponse__Output as _gitaly_gossip_v1_ListMembersResponse__Output } from '../../gitaly_gossip/v1/ListMembersResponse.ts';
import type { ListRepositoriesRequest as _gitaly_gossip_v1_ListRepositoriesRequest, ListRepositoriesRequest__Output as _gitaly_gossip_v1_ListRepositoriesRequest__Output } from '../../gitaly_gossip/v1/ListRepositoriesRequest.ts';
import type { ListRepositoriesResponse as _gitaly_gossip_v1_ListRepositoriesResponse, ListRepositoriesResponse__Output as _gitaly_gossip_v1_ListRepositoriesResponse__Output } from '../../gitaly_gossip/v1/ListRepositoriesResponse.ts';
import type { RouteRequest as _gitaly_gossip_v1_RouteRequest, RouteRequest__Output as _gitaly_gossip_v1_RouteRequest__Output } from '../../gitaly_gossip/v1/RouteRequest.ts';
import type { RouteResponse as _gitaly_gossip_v1_RouteResponse, RouteResponse__Output as _gitaly_gossip_v1_RouteResponse__Output } from '../../gitaly_gossip/v1/RouteResponse.ts';
import type { StatusRequest as _gitaly_gossip_v1_StatusRequest, StatusRequest__Output as _gitaly_gossip_v1_StatusRequest__Output } from '../../gitaly_gossip/v1/StatusRequest.ts';
import type { StatusResponse as _gitaly_gossip_v1_StatusResponse, StatusResponse__Output as _gitaly_gossip_v1_StatusResponse__Output } from '../../gitaly_gossip/v1/StatusResponse.ts';
import type { WatchRingRequest as _gitaly_gossip_v1_WatchRingRequest, WatchRingRequest__Output as _gitaly_gossip_v1_WatchRingRequest__Output } from '../../gitaly_gossip/v1/WatchRingRequest.ts';
import type { WatchRingResponse as _gitaly_gossip_v1_WatchRingResponse, WatchRingResponse__Output as _gitaly_gossip_v1_WatchRingResponse__Output } from '../../gitaly_gossip/v1/WatchRingResponse.ts';

export interface ClusterServiceClient extends grpc.Client {
  Bootstrap(argument: _gitaly_gossip_v1_BootstrapRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_BootstrapResponse__Output>): grpc.ClientUnaryCall;
  Bootstrap(argument: _gitaly_gossip_v1_BootstrapRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_gossip_v1_BootstrapResponse__Output>): grpc.ClientUnaryCall;
  Bootstrap(argument: _gitaly_gossip_v1_BootstrapRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_BootstrapResponse__Output>): grpc.ClientUnaryCall;
  Bootstrap(argument: _gitaly_gossip_v1_BootstrapRequest, callback: grpc.requestCallback<_gitaly_gossip_v1_BootstrapResponse__Output>): grpc.ClientUnaryCall;
  bootstrap(argument: _gitaly_gossip_v1_BootstrapRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_BootstrapResponse__Output>): grpc.ClientUnaryCall;
  bootstrap(argument: _gitaly_gossip_v1_BootstrapRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_gossip_v1_BootstrapResponse__Output>): grpc.ClientUnaryCall;
  bootstrap(argument: _gitaly_gossip_v1_BootstrapRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_BootstrapResponse__Output>): grpc.ClientUnaryCall;
  bootstrap(argument: _gitaly_gossip_v1_BootstrapRequest, callback: grpc.requestCallback<_gitaly_gossip_v1_BootstrapResponse__Output>): grpc.ClientUnaryCall;
  
  DatabaseStatus(argument: _gitaly_gossip_v1_DatabaseStatusRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_DatabaseStatusResponse__Output>): grpc.ClientUnaryCall;
  DatabaseStatus(argument: _gitaly_gossip_v1_DatabaseStatusRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_gossip_v1_DatabaseStatusResponse__Output>): grpc.ClientUnaryCall;
  DatabaseStatus(argument: _gitaly_gossip_v1_DatabaseStatusRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_DatabaseStatusResponse__Output>): grpc.ClientUnaryCall;
  DatabaseStatus(argument: _gitaly_gossip_v1_DatabaseStatusRequest, callback: grpc.requestCallback<_gitaly_gossip_v1_DatabaseStatusResponse__Output>): grpc.ClientUnaryCall;
  databaseStatus(argument: _gitaly_gossip_v1_DatabaseStatusRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_DatabaseStatusResponse__Output>): grpc.ClientUnaryCall;
  databaseStatus(argument: _gitaly_gossip_v1_DatabaseStatusRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_gossip_v1_DatabaseStatusResponse__Output>): grpc.ClientUnaryCall;
  databaseStatus(argument: _gitaly_gossip_v1_DatabaseStatusRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_DatabaseStatusResponse__Output>): grpc.ClientUnaryCall;
  databaseStatus(argument: _gitaly_gossip_v1_DatabaseStatusRequest, callback: grpc.requestCallback<_gitaly_gossip_v1_DatabaseStatusResponse__Output>): grpc.ClientUnaryCall;
  
  GetRepository(argument: _gitaly_gossip_v1_GetRepositoryRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_GetRepositoryResponse__Output>): grpc.ClientUnaryCall;
  GetRepository(argument: _gitaly_gossip_v1_GetRepositoryRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_gossip_v1_GetRepositoryResponse__Output>): grpc.ClientUnaryCall;
  GetRepository(argument: _gitaly_gossip_v1_GetRepositoryRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_GetRepositoryResponse__Output>): grpc.ClientUnaryCall;
  GetRepository(argument: _gitaly_gossip_v1_GetRepositoryRequest, callback: grpc.requestCallback<_gitaly_gossip_v1_GetRepositoryResponse__Output>): grpc.ClientUnaryCall;
  getRepository(argument: _gitaly_gossip_v1_GetRepositoryRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_GetRepositoryResponse__Output>): grpc.ClientUnaryCall;
  getRepository(argument: _gitaly_gossip_v1_GetRepositoryRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_gossip_v1_GetRepositoryResponse__Output>): grpc.ClientUnaryCall;
  getRepository(argument: _gitaly_gossip_v1_GetRepositoryRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_GetRepositoryResponse__Output>): grpc.ClientUnaryCall;
  getRepository(argument: _gitaly_gossip_v1_GetRepositoryRequest, callback: grpc.requestCallback<_gitaly_gossip_v1_GetRepositoryResponse__Output>): grpc.ClientUnaryCall;
  
  ListMembers(argument: _gitaly_gossip_v1_ListMembersRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_ListMembersResponse__Output>): grpc.ClientUnaryCall;
  ListMembers(argument: _gitaly_gossip_v1_ListMembersRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_gossip_v1_ListMembersResponse__Output>): grpc.ClientUnaryCall;
  ListMembers(argument: _gitaly_gossip_v1_ListMembersRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_ListMembersResponse__Output>): grpc.ClientUnaryCall;
  ListMembers(argument: _gitaly_gossip_v1_ListMembersRequest, callback: grpc.requestCallback<_gitaly_gossip_v1_ListMembersResponse__Output>): grpc.ClientUnaryCall;
  listMembers(argument: _gitaly_gossip_v1_ListMembersRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_ListMembersResponse__Output>): grpc.ClientUnaryCall;
  listMembers(argument: _gitaly_gossip_v1_ListMembersRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_gossip_v1_ListMembersResponse__Output>): grpc.ClientUnaryCall;
  listMembers(argument: _gitaly_gossip_v1_ListMembersRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_ListMembersResponse__Output>): grpc.ClientUnaryCall;
  listMembers(argument: _gitaly_gossip_v1_ListMembersRequest, callback: grpc.requestCallback<_gitaly_gossip_v1_ListMembersResponse__Output>): grpc.ClientUnaryCall;
  
  ListRepositories(argument: _gitaly_gossip_v1_ListRepositoriesRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_gossip_v1_ListRepositoriesResponse__Output>;
  ListRepositories(argument: _gitaly_gossip_v1_ListRepositoriesRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_gossip_v1_ListRepositoriesResponse__Output>;
  listRepositories(argument: _gitaly_gossip_v1_ListRepositoriesRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_gossip_v1_ListRepositoriesResponse__Output>;
  listRepositories(argument: _gitaly_gossip_v1_ListRepositoriesRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_gossip_v1_ListRepositoriesResponse__Output>;
  
  Route(argument: _gitaly_gossip_v1_RouteRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_RouteResponse__Output>): grpc.ClientUnaryCall;
  Route(argument: _gitaly_gossip_v1_RouteRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_gossip_v1_RouteResponse__Output>): grpc.ClientUnaryCall;
  Route(argument: _gitaly_gossip_v1_RouteRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_RouteResponse__Output>): grpc.ClientUnaryCall;
  Route(argument: _gitaly_gossip_v1_RouteRequest, callback: grpc.requestCallback<_gitaly_gossip_v1_RouteResponse__Output>): grpc.ClientUnaryCall;
  route(argument: _gitaly_gossip_v1_RouteRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_RouteResponse__Output>): grpc.ClientUnaryCall;
  route(argument: _gitaly_gossip_v1_RouteRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_gossip_v1_RouteResponse__Output>): grpc.ClientUnaryCall;
  route(argument: _gitaly_gossip_v1_RouteRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_RouteResponse__Output>): grpc.ClientUnaryCall;
  route(argument: _gitaly_gossip_v1_RouteRequest, callback: grpc.requestCallback<_gitaly_gossip_v1_RouteResponse__Output>): grpc.ClientUnaryCall;
  
  Status(argument: _gitaly_gossip_v1_StatusRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_StatusResponse__Output>): grpc.ClientUnaryCall;
  Status(argument: _gitaly_gossip_v1_StatusRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_gossip_v1_StatusResponse__Output>): grpc.ClientUnaryCall;
  Status(argument: _gitaly_gossip_v1_StatusRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_StatusResponse__Output>): grpc.ClientUnaryCall;
  Status(argument: _gitaly_gossip_v1_StatusRequest, callback: grpc.requestCallback<_gitaly_gossip_v1_StatusResponse__Output>): grpc.ClientUnaryCall;
  status(argument: _gitaly_gossip_v1_StatusRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_StatusResponse__Output>): grpc.ClientUnaryCall;
  status(argument: _gitaly_gossip_v1_StatusRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_gitaly_gossip_v1_StatusResponse__Output>): grpc.ClientUnaryCall;
  status(argument: _gitaly_gossip_v1_StatusRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_gitaly_gossip_v1_StatusResponse__Output>): grpc.ClientUnaryCall;
  status(argument: _gitaly_gossip_v1_StatusRequest, callback: grpc.requestCallback<_gitaly_gossip_v1_StatusResponse__Output>): grpc.ClientUnaryCall;
  
  WatchRing(argument: _gitaly_gossip_v1_WatchRingRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_gossip_v1_WatchRingResponse__Output>;
  WatchRing(argument: _gitaly_gossip_v1_WatchRingRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_gossip_v1_WatchRingResponse__Output>;
  watchRing(argument: _gitaly_gossip_v1_WatchRingRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_gossip_v1_WatchRingResponse__Output>;
  watchRing(argument: _gitaly_gossip_v1_WatchRingRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_gossip_v1_WatchRingResponse__Output>;
  
}

export interface ClusterServiceHandlers extends grpc.UntypedServiceImplementation {
  Bootstrap: grpc.handleUnaryCall<_gitaly_gossip_v1_BootstrapRequest__Output, _gitaly_gossip_v1_BootstrapResponse>;
  
  DatabaseStatus: grpc.handleUnaryCall<_gitaly_gossip_v1_DatabaseStatusRequest__Output, _gitaly_gossip_v1_DatabaseStatusResponse>;
  
  GetRepository: grpc.handleUnaryCall<_gitaly_gossip_v1_GetRepositoryRequest__Output, _gitaly_gossip_v1_GetRepositoryResponse>;
  
  ListMembers: grpc.handleUnaryCall<_gitaly_gossip_v1_ListMembersRequest__Output, _gitaly_gossip_v1_ListMembersResponse>;
  
  ListRepositories: grpc.handleServerStreamingCall<_gitaly_gossip_v1_ListRepositoriesRequest__Output, _gitaly_gossip_v1_ListRepositoriesResponse>;
  
  Route: grpc.handleUnaryCall<_gitaly_gossip_v1_RouteRequest__Output, _gitaly_gossip_v1_RouteResponse>;
  
  Status: grpc.handleUnaryCall<_gitaly_gossip_v1_StatusRequest__Output, _gitaly_gossip_v1_StatusResponse>;
  
  WatchRing: grpc.handleServerStreamingCall<_gitaly_gossip_v1_WatchRingRequest__Output, _gitaly_gossip_v1_WatchRingResponse>;
  
}

export interface ClusterServiceDefinition extends grpc.ServiceDefinition {
  Bootstrap: MethodDefinition<_gitaly_gossip_v1_BootstrapRequest, _gitaly_gossip_v1_BootstrapResponse, _gitaly_gossip_v1_BootstrapRequest__Output, _gitaly_gossip_v1_BootstrapResponse__Output>
  DatabaseStatus: MethodDefinition<_gitaly_gossip_v1_DatabaseStatusRequest, _gitaly_gossip_v1_DatabaseStatusResponse, _gitaly_gossip_v1_DatabaseStatusRequest__Output, _gitaly_gossip_v1_DatabaseStatusResponse__Output>
  GetRepository: MethodDefinition<_gitaly_gossip_v1_GetRepositoryRequest, _gitaly_gossip_v1_GetRepositoryResponse, _gitaly_gossip_v1_GetRepositoryRequest__Output, _gitaly_gossip_v1_GetRepositoryResponse__Output>
  ListMembers: MethodDefinition<_gitaly_gossip_v1_ListMembersRequest, _gitaly_gossip_v1_ListMembersResponse, _gitaly_gossip_v1_ListMembersRequest__Output, _gitaly_gossip_v1_ListMembersResponse__Output>
  ListRepositories: MethodDefinition<_gitaly_gossip_v1_ListRepositoriesRequest, _gitaly_gossip_v1_ListRepositoriesResponse, _gitaly_gossip_v1_ListRepositoriesRequest__Output, _gitaly_gossip_v1_ListRepositoriesResponse__Output>
  Route: MethodDefinition<_gitaly_gossip_v1_RouteRequest, _gitaly_gossip_v1_RouteResponse, _gitaly_gossip_v1_RouteRequest__Output, _gitaly_gossip_v1_RouteResponse__Output>
  Status: MethodDefinition<_gitaly_gossip_v1_StatusRequest, _gitaly_gossip_v1_StatusResponse, _gitaly_gossip_v1_StatusRequest__Output, _gitaly_gossip_v1_StatusResponse__Output>
  WatchRing: MethodDefinition<_gitaly_gossip_v1_WatchRingRequest, _gitaly_gossip_v1_WatchRingResponse, _gitaly_gossip_v1_WatchRingRequest__Output, _gitaly_gossip_v1_WatchRingResponse__Output>
}
