// Original file: proto/server.proto


export interface DiskStatisticsRequest {
}

export interface DiskStatisticsRequest__Output {
}
