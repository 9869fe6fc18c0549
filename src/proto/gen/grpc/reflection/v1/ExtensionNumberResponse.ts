// Original file: proto/grpc/reflection/v1/reflection.proto


export interface ExtensionNumberResponse {
  'baseTypeName'?: (string);
  'extensionNumber'?: (number)[];
}

export interface ExtensionNumberResponse__Output {
  'baseTypeName': (string);
  'extensionNumber': (number)[];
}
