// Original file: proto/grpc/reflection/v1/reflection.proto

import type { ExtensionRequest as _grpc_reflection_v1_ExtensionRequest, ExtensionRequest__Output as _grpc_reflection_v1_ExtensionRequest__Output } from '../../../grpc/reflection/v1/ExtensionRequest.ts';

export interface ServerReflectionRequest {
  'host'?: (string);
  'fileByFilename'?: (string);
  'fileContainingSymbol'?: (string);
  'fileContainingExtension'?: (_grpc_reflection_v1_ExtensionRequest | null);
  'allExtensionNumbersOfType'?: (string);
  'listServices'?: (string);
  'messageRequest'?: "fileByFilename"|"fileContainingSymbol"|"fileContainingExtension"|"allExtensionNumbersOfType"|"listServices";
}

export interface ServerReflectionRequest__Output {
  'host': (string);
  'fileByFilename'?: (string);
  'fileContainingSymbol'?: (string);
  'fileContainingExtension'?: (_grpc_reflection_v1_ExtensionRequest__Output | null);
  'allExtensionNumbersOfType'?: (string);
  'listServices'?: (string);
  'messageRequest'?: "fileByFilename"|"fileContainingSymbol"|"fileContainingExtension"|"allExtensionNumbersOfType"|"listServices";
}
