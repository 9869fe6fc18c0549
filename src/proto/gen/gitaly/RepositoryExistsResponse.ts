// Original file: proto/repository.proto


export interface RepositoryExistsResponse {
  'exists'?: (boolean);
}

export interface RepositoryExistsResponse__Output {
  'exists': (boolean);
}
