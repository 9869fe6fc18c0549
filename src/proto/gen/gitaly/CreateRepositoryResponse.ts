// Original file: proto/repository.proto


export interface CreateRepositoryResponse {
}

export interface CreateRepositoryResponse__Output {
}
