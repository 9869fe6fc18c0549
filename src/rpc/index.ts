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
