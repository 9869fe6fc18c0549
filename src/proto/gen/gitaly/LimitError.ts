// Original file: proto/errors.proto

import type { Duration as _google_protobuf_Duration, Duration__Output as _google_protobuf_Duration__Output } from '../google/protobuf/Duration.ts';

export interface LimitError {
  'errorMessage'?: (string);
  'retryAfter'?: (_google_protobuf_Duration | null);
}

export interface LimitError__Output {
  'errorMessage': (string);
  'retryAfter': (_google_protobuf_Duration__Output | null);
}
