// Original file: proto/server.proto


export interface _gitaly_ServerInfoResponse_StorageStatus {
  'storageName'?: (string);
  'readable'?: (boolean);
  'writeable'?: (boolean);
  'fsType'?: (string);
  'filesystemId'?: (string);
  'replicationFactor'?: (number);
}

export interface _gitaly_ServerInfoResponse_StorageStatus__Output {
  'storageName': (string);
  'readable': (boolean);
  'writeable': (boolean);
  'fsType': (string);
  'filesystemId': (string);
  'replicationFactor': (number);
}

export interface ServerInfoResponse {
  'serverVersion'?: (string);
  'gitVersion'?: (string);
  'storageStatuses'?: (_gitaly_ServerInfoResponse_StorageStatus)[];
}

export interface ServerInfoResponse__Output {
  'serverVersion': (string);
  'gitVersion': (string);
  'storageStatuses': (_gitaly_ServerInfoResponse_StorageStatus__Output)[];
}
