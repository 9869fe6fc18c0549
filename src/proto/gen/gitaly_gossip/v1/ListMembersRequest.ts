// Original file: proto/gitaly_gossip/v1/cluster.proto


export interface ListMembersRequest {
}

export interface ListMembersRequest__Output {
}
