// Original file: proto/ref.proto


export interface FindDefaultBranchNameResponse {
  'name'?: (Buffer | Uint8Array | string);
}

export interface FindDefaultBranchNameResponse__Output {
  'name': (Buffer);
}
