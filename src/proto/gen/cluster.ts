import type * as grpc from '@grpc/grpc-js';
import type { EnumTypeDefinition, MessageTypeDefinition } from '@grpc/proto-loader';

import type { CommitAuthor as _gitaly_CommitAuthor, CommitAuthor__Output as _gitaly_CommitAuthor__Output } from './gitaly/CommitAuthor.ts';
import type { CommitStatInfo as _gitaly_CommitStatInfo, CommitStatInfo__Output as _gitaly_CommitStatInfo__Output } from './gitaly/CommitStatInfo.ts';
import type { CommitTrailer as _gitaly_CommitTrailer, CommitTrailer__Output as _gitaly_CommitTrailer__Output } from './gitaly/CommitTrailer.ts';
import type { GitCommit as _gitaly_GitCommit, GitCommit__Output as _gitaly_GitCommit__Output } from './gitaly/GitCommit.ts';
import type { OperationMsg as _gitaly_OperationMsg, OperationMsg__Output as _gitaly_OperationMsg__Output } from './gitaly/OperationMsg.ts';
import type { PaginationCursor as _gitaly_PaginationCursor, PaginationCursor__Output as _gitaly_PaginationCursor__Output } from './gitaly/PaginationCursor.ts';
import type { PaginationParameter as _gitaly_PaginationParameter, PaginationParameter__Output as _gitaly_PaginationParameter__Output } from './gitaly/PaginationParameter.ts';
import type { Repository as _gitaly_Repository, Repository__Output as _gitaly_Repository__Output } from './gitaly/Repository.ts';
import type { BootstrapRequest as _gitaly_gossip_v1_BootstrapRequest, BootstrapRequest__Output as _gitaly_gossip_v1_BootstrapRequest__Output } from './gitaly_gossip/v1/BootstrapRequest.ts';
import type { BootstrapResponse as _gitaly_gossip_v1_BootstrapResponse, BootstrapResponse__Output as _gitaly_gossip_v1_BootstrapResponse__Output } from './gitaly_gossip/v1/BootstrapResponse.ts';
import type { ClusterServiceClient as _gitaly_gossip_v1_ClusterServiceClient, ClusterServiceDefinition as _gitaly_gossip_v1_ClusterServiceDefinition } from './gitaly_gossip/v1/ClusterService.ts';
import type { DatabaseServer as _gitaly_gossip_v1_DatabaseServer, DatabaseServer__Output as _gitaly_gossip_v1_DatabaseServer__Output } from './gitaly_gossip/v1/DatabaseServer.ts';
import type { DatabaseStatusRequest as _gitaly_gossip_v1_DatabaseStatusRequest, DatabaseStatusRequest__Output as _gitaly_gossip_v1_DatabaseStatusRequest__Output } from './gitaly_gossip/v1/DatabaseStatusRequest.ts';
import type { DatabaseStatusResponse as _gitaly_gossip_v1_DatabaseStatusResponse, DatabaseStatusResponse__Output as _gitaly_gossip_v1_DatabaseStatusResponse__Output } from './gitaly_gossip/v1/DatabaseStatusResponse.ts';
import type { GetRepositoryRequest as _gitaly_gossip_v1_GetRepositoryRequest, GetRepositoryRequest__Output as _gitaly_gossip_v1_GetRepositoryRequest__Output } from './gitaly_gossip/v1/GetRepositoryRequest.ts';
import type { GetRepositoryResponse as _gitaly_gossip_v1_GetRepositoryResponse, GetRepositoryResponse__Output as _gitaly_gossip_v1_GetRepositoryResponse__Output } from './gitaly_gossip/v1/GetRepositoryResponse.ts';
import type { ListMembersRequest as _gitaly_gossip_v1_ListMembersRequest, ListMembersRequest__Output as _gitaly_gossip_v1_ListMembersRequest__Output } from './gitaly_gossip/v1/ListMembersRequest.ts';
import type { ListMembersResponse as _gitaly_gossip_v1_ListMembersResponse, ListMembersResponse__Output as _gitaly_gossip_v1_ListMembersResponse__Output } from './gitaly_gossip/v1/ListMembersResponse.ts';
import type { ListRepositoriesRequest as _gitaly_gossip_v1_ListRepositoriesRequest, ListRepositoriesRequest__Output as _gitaly_gossip_v1_ListRepositoriesRequest__Output } from './gitaly_gossip/v1/ListRepositoriesRequest.ts';
import type { ListRepositoriesResponse as _gitaly_gossip_v1_ListRepositoriesResponse, ListRepositoriesResponse__Output as _gitaly_gossip_v1_ListRepositoriesResponse__Output } from './gitaly_gossip/v1/ListRepositoriesResponse.ts';
import type { Member as _gitaly_gossip_v1_Member, Member__Output as _gitaly_gossip_v1_Member__Output } from './gitaly_gossip/v1/Member.ts';
import type { NodeMeta as _gitaly_gossip_v1_NodeMeta, NodeMeta__Output as _gitaly_gossip_v1_NodeMeta__Output } from './gitaly_gossip/v1/NodeMeta.ts';
import type { PushPullState as _gitaly_gossip_v1_PushPullState, PushPullState__Output as _gitaly_gossip_v1_PushPullState__Output } from './gitaly_gossip/v1/PushPullState.ts';
import type { RepositoryInfo as _gitaly_gossip_v1_RepositoryInfo, RepositoryInfo__Output as _gitaly_gossip_v1_RepositoryInfo__Output } from './gitaly_gossip/v1/RepositoryInfo.ts';
import type { RouteRequest as _gitaly_gossip_v1_RouteRequest, RouteRequest__Output as _gitaly_gossip_v1_RouteRequest__Output } from './gitaly_gossip/v1/RouteRequest.ts';
import type { RouteResponse as _gitaly_gossip_v1_RouteResponse, RouteResponse__Output as _gitaly_gossip_v1_RouteResponse__Output } from './gitaly_gossip/v1/RouteResponse.ts';
import type { StatusRequest as _gitaly_gossip_v1_StatusRequest, StatusRequest__Output as _gitaly_gossip_v1_StatusRequest__Output } from './gitaly_gossip/v1/StatusRequest.ts';
import type { StatusResponse as _gitaly_gossip_v1_StatusResponse, StatusResponse__Output as _gitaly_gossip_v1_StatusResponse__Output } from './gitaly_gossip/v1/StatusResponse.ts';
import type { WatchRingRequest as _gitaly_gossip_v1_WatchRingRequest, WatchRingRequest__Output as _gitaly_gossip_v1_WatchRingRequest__Output } from './gitaly_gossip/v1/WatchRingRequest.ts';
import type { WatchRingResponse as _gitaly_gossip_v1_WatchRingResponse, WatchRingResponse__Output as _gitaly_gossip_v1_WatchRingResponse__Output } from './gitaly_gossip/v1/WatchRingResponse.ts';
import type { DescriptorProto as _google_protobuf_DescriptorProto, DescriptorProto__Output as _google_protobuf_DescriptorProto__Output } from './google/protobuf/DescriptorProto.ts';
import type { EnumDescriptorProto as _google_protobuf_EnumDescriptorProto, EnumDescriptorProto__Output as _google_protobuf_EnumDescriptorProto__Output } from './google/protobuf/EnumDescriptorProto.ts';
import type { EnumOptions as _google_protobuf_EnumOptions, EnumOptions__Output as _google_protobuf_EnumOptions__Output } from './google/protobuf/EnumOptions.ts';
import type { EnumValueDescriptorProto as _google_protobuf_EnumValueDescriptorProto, EnumValueDescriptorProto__Output as _google_protobuf_EnumValueDescriptorProto__Output } from './google/protobuf/EnumValueDescriptorProto.ts';
import type { EnumValueOptions as _google_protobuf_EnumValueOptions, EnumValueOptions__Output as _google_protobuf_EnumValueOptions__Output } from './google/protobuf/EnumValueOptions.ts';
import type { ExtensionRangeOptions as _google_protobuf_ExtensionRangeOptions, ExtensionRangeOptions__Output as _google_protobuf_ExtensionRangeOptions__Output } from './google/protobuf/ExtensionRangeOptions.ts';
import type { FeatureSet as _google_protobuf_FeatureSet, FeatureSet__Output as _google_protobuf_FeatureSet__Output } from './google/protobuf/FeatureSet.ts';
import type { FeatureSetDefaults as _google_protobuf_FeatureSetDefaults, FeatureSetDefaults__Output as _google_protobuf_FeatureSetDefaults__Output } from './google/protobuf/FeatureSetDefaults.ts';
import type { FieldDescriptorProto as _google_protobuf_FieldDescriptorProto, FieldDescriptorProto__Output as _google_protobuf_FieldDescriptorProto__Output } from './google/protobuf/FieldDescriptorProto.ts';
import type { FieldOptions as _google_protobuf_FieldOptions, FieldOptions__Output as _google_protobuf_FieldOptions__Output } from './google/protobuf/FieldOptions.ts';
import type { FileDescriptorProto as _google_protobuf_FileDescriptorProto, FileDescriptorProto__Output as _google_protobuf_FileDescriptorProto__Output } from './google/protobuf/FileDescriptorProto.ts';
import type { FileDescriptorSet as _google_protobuf_FileDescriptorSet, FileDescriptorSet__Output as _google_protobuf_FileDescriptorSet__Output } from './google/protobuf/FileDescriptorSet.ts';
import type { FileOptions as _google_protobuf_FileOptions, FileOptions__Output as _google_protobuf_FileOptions__Output } from './google/protobuf/FileOptions.ts';
import type { GeneratedCodeInfo as _google_protobuf_GeneratedCodeInfo, GeneratedCodeInfo__Output as _google_protobuf_GeneratedCodeInfo__Output } from './google/protobuf/GeneratedCodeInfo.ts';
import type { MessageOptions as _google_protobuf_MessageOptions, MessageOptions__Output as _google_protobuf_MessageOptions__Output } from './google/protobuf/MessageOptions.ts';
import type { MethodDescriptorProto as _google_protobuf_MethodDescriptorProto, MethodDescriptorProto__Output as _google_protobuf_MethodDescriptorProto__Output } from './google/protobuf/MethodDescriptorProto.ts';
import type { MethodOptions as _google_protobuf_MethodOptions, MethodOptions__Output as _google_protobuf_MethodOptions__Output } from './google/protobuf/MethodOptions.ts';
import type { OneofDescriptorProto as _google_protobuf_OneofDescriptorProto, OneofDescriptorProto__Output as _google_protobuf_OneofDescriptorProto__Output } from './google/protobuf/OneofDescriptorProto.ts';
import type { OneofOptions as _google_protobuf_OneofOptions, OneofOptions__Output as _google_protobuf_OneofOptions__Output } from './google/protobuf/OneofOptions.ts';
import type { ServiceDescriptorProto as _google_protobuf_ServiceDescriptorProto, ServiceDescriptorProto__Output as _google_protobuf_ServiceDescriptorProto__Output } from './google/protobuf/ServiceDescriptorProto.ts';
import type { ServiceOptions as _google_protobuf_ServiceOptions, ServiceOptions__Output as _google_protobuf_ServiceOptions__Output } from './google/protobuf/ServiceOptions.ts';
import type { SourceCodeInfo as _google_protobuf_SourceCodeInfo, SourceCodeInfo__Output as _google_protobuf_SourceCodeInfo__Output } from './google/protobuf/SourceCodeInfo.ts';
import type { Timestamp as _google_protobuf_Timestamp, Timestamp__Output as _google_protobuf_Timestamp__Output } from './google/protobuf/Timestamp.ts';
import type { UninterpretedOption as _google_protobuf_UninterpretedOption, UninterpretedOption__Output as _google_protobuf_UninterpretedOption__Output } from './google/protobuf/UninterpretedOption.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  gitaly: {
    CommitAuthor: MessageTypeDefinition<_gitaly_CommitAuthor, _gitaly_CommitAuthor__Output>
    CommitStatInfo: MessageTypeDefinition<_gitaly_CommitStatInfo, _gitaly_CommitStatInfo__Output>
    CommitTrailer: MessageTypeDefinition<_gitaly_CommitTrailer, _gitaly_CommitTrailer__Output>
    GitCommit: MessageTypeDefinition<_gitaly_GitCommit, _gitaly_GitCommit__Output>
    ObjectFormat: EnumTypeDefinition
    OperationMsg: MessageTypeDefinition<_gitaly_OperationMsg, _gitaly_OperationMsg__Output>
    PaginationCursor: MessageTypeDefinition<_gitaly_PaginationCursor, _gitaly_PaginationCursor__Output>
    PaginationParameter: MessageTypeDefinition<_gitaly_PaginationParameter, _gitaly_PaginationParameter__Output>
    Repository: MessageTypeDefinition<_gitaly_Repository, _gitaly_Repository__Output>
    SignatureType: EnumTypeDefinition
    SortDirection: EnumTypeDefinition
  }
  gitaly_gossip: {
    v1: {
      BootstrapRequest: MessageTypeDefinition<_gitaly_gossip_v1_BootstrapRequest, _gitaly_gossip_v1_BootstrapRequest__Output>
      BootstrapResponse: MessageTypeDefinition<_gitaly_gossip_v1_BootstrapResponse, _gitaly_gossip_v1_BootstrapResponse__Output>
      ClusterService: SubtypeConstructor<typeof grpc.Client, _gitaly_gossip_v1_ClusterServiceClient> & { service: _gitaly_gossip_v1_ClusterServiceDefinition }
      DatabaseServer: MessageTypeDefinition<_gitaly_gossip_v1_DatabaseServer, _gitaly_gossip_v1_DatabaseServer__Output>
      DatabaseStatusRequest: MessageTypeDefinition<_gitaly_gossip_v1_DatabaseStatusRequest, _gitaly_gossip_v1_DatabaseStatusRequest__Output>
      DatabaseStatusResponse: MessageTypeDefinition<_gitaly_gossip_v1_DatabaseStatusResponse, _gitaly_gossip_v1_DatabaseStatusResponse__Output>
      GetRepositoryRequest: MessageTypeDefinition<_gitaly_gossip_v1_GetRepositoryRequest, _gitaly_gossip_v1_GetRepositoryRequest__Output>
      GetRepositoryResponse: MessageTypeDefinition<_gitaly_gossip_v1_GetRepositoryResponse, _gitaly_gossip_v1_GetRepositoryResponse__Output>
      ListMembersRequest: MessageTypeDefinition<_gitaly_gossip_v1_ListMembersRequest, _gitaly_gossip_v1_ListMembersRequest__Output>
      ListMembersResponse: MessageTypeDefinition<_gitaly_gossip_v1_ListMembersResponse, _gitaly_gossip_v1_ListMembersResponse__Output>
      ListRepositoriesRequest: MessageTypeDefinition<_gitaly_gossip_v1_ListRepositoriesRequest, _gitaly_gossip_v1_ListRepositoriesRequest__Output>
      ListRepositoriesResponse: MessageTypeDefinition<_gitaly_gossip_v1_ListRepositoriesResponse, _gitaly_gossip_v1_ListRepositoriesResponse__Output>
      Member: MessageTypeDefinition<_gitaly_gossip_v1_Member, _gitaly_gossip_v1_Member__Output>
      NodeMeta: MessageTypeDefinition<_gitaly_gossip_v1_NodeMeta, _gitaly_gossip_v1_NodeMeta__Output>
      PushPullState: MessageTypeDefinition<_gitaly_gossip_v1_PushPullState, _gitaly_gossip_v1_PushPullState__Output>
      RepositoryInfo: MessageTypeDefinition<_gitaly_gossip_v1_RepositoryInfo, _gitaly_gossip_v1_RepositoryInfo__Output>
      RouteRequest: MessageTypeDefinition<_gitaly_gossip_v1_RouteRequest, _gitaly_gossip_v1_RouteRequest__Output>
      RouteResponse: MessageTypeDefinition<_gitaly_gossip_v1_RouteResponse, _gitaly_gossip_v1_RouteResponse__Output>
      StatusRequest: MessageTypeDefinition<_gitaly_gossip_v1_StatusRequest, _gitaly_gossip_v1_StatusRequest__Output>
      StatusResponse: MessageTypeDefinition<_gitaly_gossip_v1_StatusResponse, _gitaly_gossip_v1_StatusResponse__Output>
      WatchRingRequest: MessageTypeDefinition<_gitaly_gossip_v1_WatchRingRequest, _gitaly_gossip_v1_WatchRingRequest__Output>
      WatchRingResponse: MessageTypeDefinition<_gitaly_gossip_v1_WatchRingResponse, _gitaly_gossip_v1_WatchRingResponse__Output>
    }
  }
  google: {
    protobuf: {
      DescriptorProto: MessageTypeDefinition<_google_protobuf_DescriptorProto, _google_protobuf_DescriptorProto__Output>
      Edition: EnumTypeDefinition
      EnumDescriptorProto: MessageTypeDefinition<_google_protobuf_EnumDescriptorProto, _google_protobuf_EnumDescriptorProto__Output>
      EnumOptions: MessageTypeDefinition<_google_protobuf_EnumOptions, _google_protobuf_EnumOptions__Output>
      EnumValueDescriptorProto: MessageTypeDefinition<_google_protobuf_EnumValueDescriptorProto, _google_protobuf_EnumValueDescriptorProto__Output>
      EnumValueOptions: MessageTypeDefinition<_google_protobuf_EnumValueOptions, _google_protobuf_EnumValueOptions__Output>
      ExtensionRangeOptions: MessageTypeDefinition<_google_protobuf_ExtensionRangeOptions, _google_protobuf_ExtensionRangeOptions__Output>
      FeatureSet: MessageTypeDefinition<_google_protobuf_FeatureSet, _google_protobuf_FeatureSet__Output>
      FeatureSetDefaults: MessageTypeDefinition<_google_protobuf_FeatureSetDefaults, _google_protobuf_FeatureSetDefaults__Output>
      FieldDescriptorProto: MessageTypeDefinition<_google_protobuf_FieldDescriptorProto, _google_protobuf_FieldDescriptorProto__Output>
      FieldOptions: MessageTypeDefinition<_google_protobuf_FieldOptions, _google_protobuf_FieldOptions__Output>
      FileDescriptorProto: MessageTypeDefinition<_google_protobuf_FileDescriptorProto, _google_protobuf_FileDescriptorProto__Output>
      FileDescriptorSet: MessageTypeDefinition<_google_protobuf_FileDescriptorSet, _google_protobuf_FileDescriptorSet__Output>
      FileOptions: MessageTypeDefinition<_google_protobuf_FileOptions, _google_protobuf_FileOptions__Output>
      GeneratedCodeInfo: MessageTypeDefinition<_google_protobuf_GeneratedCodeInfo, _google_protobuf_GeneratedCodeInfo__Output>
      MessageOptions: MessageTypeDefinition<_google_protobuf_MessageOptions, _google_protobuf_MessageOptions__Output>
      MethodDescriptorProto: MessageTypeDefinition<_google_protobuf_MethodDescriptorProto, _google_protobuf_MethodDescriptorProto__Output>
      MethodOptions: MessageTypeDefinition<_google_protobuf_MethodOptions, _google_protobuf_MethodOptions__Output>
      OneofDescriptorProto: MessageTypeDefinition<_google_protobuf_OneofDescriptorProto, _google_protobuf_OneofDescriptorProto__Output>
      OneofOptions: MessageTypeDefinition<_google_protobuf_OneofOptions, _google_protobuf_OneofOptions__Output>
      ServiceDescriptorProto: MessageTypeDefinition<_google_protobuf_ServiceDescriptorProto, _google_protobuf_ServiceDescriptorProto__Output>
      ServiceOptions: MessageTypeDefinition<_google_protobuf_ServiceOptions, _google_protobuf_ServiceOptions__Output>
      SourceCodeInfo: MessageTypeDefinition<_google_protobuf_SourceCodeInfo, _google_protobuf_SourceCodeInfo__Output>
      SymbolVisibility: EnumTypeDefinition
      Timestamp: MessageTypeDefinition<_google_protobuf_Timestamp, _google_protobuf_Timestamp__Output>
      UninterpretedOption: MessageTypeDefinition<_google_protobuf_UninterpretedOption, _google_protobuf_UninterpretedOption__Output>
    }
  }
}

