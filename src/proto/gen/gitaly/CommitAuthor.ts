// Original file: proto/shared.proto

import type { Timestamp as _google_protobuf_Timestamp, Timestamp__Output as _google_protobuf_Timestamp__Output } from '../google/protobuf/Timestamp.ts';

export interface CommitAuthor {
  'name'?: (Buffer | Uint8Array | string);
  'email'?: (Buffer | Uint8Array | string);
  'date'?: (_google_protobuf_Timestamp | null);
  'timezone'?: (Buffer | Uint8Array | string);
}

export interface CommitAuthor__Output {
  'name': (Buffer);
  'email': (Buffer);
  'date': (_google_protobuf_Timestamp__Output | null);
  'timezone': (Buffer);
}
