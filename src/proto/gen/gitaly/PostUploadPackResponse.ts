// Original file: proto/smarthttp.proto


export interface PostUploadPackResponse {
  'data'?: (Buffer | Uint8Array | string);
}

export interface PostUploadPackResponse__Output {
  'data': (Buffer);
}
