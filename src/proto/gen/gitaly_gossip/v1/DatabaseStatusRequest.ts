// Original file: proto/gitaly_gossip/v1/cluster.proto


export interface DatabaseStatusRequest {
}

export interface DatabaseStatusRequest__Output {
}
