// Original file: proto/server.proto


export interface ServerInfoRequest {
}

export interface ServerInfoRequest__Output {
}
