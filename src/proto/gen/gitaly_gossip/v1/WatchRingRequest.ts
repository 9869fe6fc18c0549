// Original file: proto/gitaly_gossip/v1/cluster.proto


export interface WatchRingRequest {
}

export interface WatchRingRequest__Output {
}
