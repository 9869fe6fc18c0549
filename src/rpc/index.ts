export { createRpcServer, type RpcDeps, type RpcServer } from "./create-rpc-server.ts";
export type {
  BidiHandler,
  CallContext,
  ClientStreamHandler,
  Handler,
  ServerStreamHandler,
  ServiceHandlers,
  ServiceMap,
  UnaryHandler,
} from "./handler.ts";
export type { NodeState } from "./interceptors/availability.ts";
export { defaultRpcOptions, type RpcOptions } from "./rpc-options.ts";
export { targetPath } from "./target-path.ts";
