// Original file: proto/repository.proto


export interface RemoveRepositoryResponse {
}

export interface RemoveRepositoryResponse__Output {
}
