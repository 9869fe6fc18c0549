// Original file: proto/server.proto


export interface _gitaly_ReadinessCheckResponse_Failure {
  'failedChecks'?: (_gitaly_ReadinessCheckResponse_Failure_Response)[];
}

export interface _gitaly_ReadinessCheckResponse_Failure__Output {
  'failedChecks': (_gitaly_ReadinessCheckResponse_Failure_Response__Output)[];
}

export interface _gitaly_ReadinessCheckResponse_Ok {
}

export interface _gitaly_ReadinessCheckResponse_Ok__Output {
}

export interface _gitaly_ReadinessCheckResponse_Failure_Response {
  'name'?: (string);
  'errorMessage'?: (string);
}

export interface _gitaly_ReadinessCheckResponse_Failure_Response__Output {
  'name': (string);
  'errorMessage': (string);
}

export interface ReadinessCheckResponse {
  'okResponse'?: (_gitaly_ReadinessCheckResponse_Ok | null);
  'failureResponse'?: (_gitaly_ReadinessCheckResponse_Failure | null);
  'Result'?: "okResponse"|"failureResponse";
}

export interface ReadinessCheckResponse__Output {
  'okResponse'?: (_gitaly_ReadinessCheckResponse_Ok__Output | null);
  'failureResponse'?: (_gitaly_ReadinessCheckResponse_Failure__Output | null);
  'Result'?: "okResponse"|"failureResponse";
}
