// Original file: proto/shared.proto


export interface CommitTrailer {
  'key'?: (Buffer | Uint8Array | string);
  'value'?: (Buffer | Uint8Array | string);
}

export interface CommitTrailer__Output {
  'key': (Buffer);
  'value': (Buffer);
}
