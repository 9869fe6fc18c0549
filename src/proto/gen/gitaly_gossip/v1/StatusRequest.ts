// Original file: proto/gitaly_gossip/v1/cluster.proto


export interface StatusRequest {
}

export interface StatusRequest__Output {
}
