// Original file: proto/server.proto

import type { Duration as _google_protobuf_Duration, Duration__Output as _google_protobuf_Duration__Output } from '../google/protobuf/Duration.ts';

export interface ReadinessCheckRequest {
  'timeout'?: (_google_protobuf_Duration | null);
}

export interface ReadinessCheckRequest__Output {
  'timeout': (_google_protobuf_Duration__Output | null);
}
