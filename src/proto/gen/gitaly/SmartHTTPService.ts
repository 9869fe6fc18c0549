// Original file: proto/smarthttp.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { InfoRefsRequest as _gitaly_InfoRefsRequest, InfoRefsRequest__Output as _gitaly_InfoRefsRequest__Output } from '../gitaly/InfoRefsRequest.ts';
import type { InfoRefsResponse as _gitaly_InfoRefsResponse, InfoRefsResponse__Output as _gitaly_InfoRefsResponse__Output } from '../gitaly/InfoRefsResponse.ts';
import type { PostReceivePackRequest as _gitaly_PostReceivePackRequest, PostReceivePackRequest__Output as _gitaly_PostReceivePackRequest__Output } from '../gitaly/PostReceivePackRequest.ts';
import type { PostReceivePackResponse as _gitaly_PostReceivePackResponse, PostReceivePackResponse__Output as _gitaly_PostReceivePackResponse__Output } from '../gitaly/PostReceivePackResponse.ts';
import type { PostUploadPackRequest as _gitaly_PostUploadPackRequest, PostUploadPackRequest__Output as _gitaly_PostUploadPackRequest__Output } from '../gitaly/PostUploadPackRequest.ts';
import type { PostUploadPackResponse as _gitaly_PostUploadPackResponse, PostUploadPackResponse__Output as _gitaly_PostUploadPackResponse__Output } from '../gitaly/PostUploadPackResponse.ts';

export interface SmartHTTPServiceClient extends grpc.Client {
  InfoRefsReceivePack(argument: _gitaly_InfoRefsRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_InfoRefsResponse__Output>;
  InfoRefsReceivePack(argument: _gitaly_InfoRefsRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_InfoRefsResponse__Output>;
  infoRefsReceivePack(argument: _gitaly_InfoRefsRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_InfoRefsResponse__Output>;
  infoRefsReceivePack(argument: _gitaly_InfoRefsRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_InfoRefsResponse__Output>;
  
  InfoRefsUploadPack(argument: _gitaly_InfoRefsRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_InfoRefsResponse__Output>;
  InfoRefsUploadPack(argument: _gitaly_InfoRefsRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_InfoRefsResponse__Output>;
  infoRefsUploadPack(argument: _gitaly_InfoRefsRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_InfoRefsResponse__Output>;
  infoRefsUploadPack(argument: _gitaly_InfoRefsRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_gitaly_InfoRefsResponse__Output>;
  
  PostReceivePack(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_gitaly_PostReceivePackRequest, _gitaly_PostReceivePackResponse__Output>;
  PostReceivePack(options?: grpc.CallOptions): grpc.ClientDuplexStream<_gitaly_PostReceivePackRequest, _gitaly_PostReceivePackResponse__Output>;
  postReceivePack(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_gitaly_PostReceivePackRequest, _gitaly_PostReceivePackResponse__Output>;
  postReceivePack(options?: grpc.CallOptions): grpc.ClientDuplexStream<_gitaly_PostReceivePackRequest, _gitaly_PostReceivePackResponse__Output>;
  
  PostUploadPack(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_gitaly_PostUploadPackRequest, _gitaly_PostUploadPackResponse__Output>;
  PostUploadPack(options?: grpc.CallOptions): grpc.ClientDuplexStream<_gitaly_PostUploadPackRequest, _gitaly_PostUploadPackResponse__Output>;
  postUploadPack(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_gitaly_PostUploadPackRequest, _gitaly_PostUploadPackResponse__Output>;
  postUploadPack(options?: grpc.CallOptions): grpc.ClientDuplexStream<_gitaly_PostUploadPackRequest, _gitaly_PostUploadPackResponse__Output>;
  
}

export interface SmartHTTPServiceHandlers extends grpc.UntypedServiceImplementation {
  InfoRefsReceivePack: grpc.handleServerStreamingCall<_gitaly_InfoRefsRequest__Output, _gitaly_InfoRefsResponse>;
  
  InfoRefsUploadPack: grpc.handleServerStreamingCall<_gitaly_InfoRefsRequest__Output, _gitaly_InfoRefsResponse>;
  
  PostReceivePack: grpc.handleBidiStreamingCall<_gitaly_PostReceivePackRequest__Output, _gitaly_PostReceivePackResponse>;
  
  PostUploadPack: grpc.handleBidiStreamingCall<_gitaly_PostUploadPackRequest__Output, _gitaly_PostUploadPackResponse>;
  
}

export interface SmartHTTPServiceDefinition extends grpc.ServiceDefinition {
  InfoRefsReceivePack: MethodDefinition<_gitaly_InfoRefsRequest, _gitaly_InfoRefsResponse, _gitaly_InfoRefsRequest__Output, _gitaly_InfoRefsResponse__Output>
  InfoRefsUploadPack: MethodDefinition<_gitaly_InfoRefsRequest, _gitaly_InfoRefsResponse, _gitaly_InfoRefsRequest__Output, _gitaly_InfoRefsResponse__Output>
  PostReceivePack: MethodDefinition<_gitaly_PostReceivePackRequest, _gitaly_PostReceivePackResponse, _gitaly_PostReceivePackRequest__Output, _gitaly_PostReceivePackResponse__Output>
  PostUploadPack: MethodDefinition<_gitaly_PostUploadPackRequest, _gitaly_PostUploadPackResponse, _gitaly_PostUploadPackRequest__Output, _gitaly_PostUploadPackResponse__Output>
}
