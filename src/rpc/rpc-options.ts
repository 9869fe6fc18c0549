import type { RoutingOptions } from "../routing/index.ts";
import type { DeadlineOptions } from "./interceptors/deadline.ts";
import type { LimitOptions } from "./interceptors/limit.ts";

export interface RpcOptions extends RoutingOptions, LimitOptions, DeadlineOptions {
  /** How long a client may take for the first message of a request stream, in milliseconds. Default 1 minute. */
  readonly firstMessageMs: number;
  /** Calls that one connection may have open. Default 1000. */
  readonly maxStreamsPerConnection: number;
  /** Size of one request message, in bytes. Default 4 MiB, as every gRPC library has it. */
  readonly maxReceiveBytes: number;
  /** What a client may upload before it waits for us, per connection and per call, in bytes. Default 4 MiB. */
  readonly windowBytes: number;
  /** How long a connection may be silent before it is probed, in milliseconds; 20 s later it is cut. Default 5 minutes. */
  readonly keepaliveMs: number;
}

/** The defaults that the options name. */
export const defaultRpcOptions: RpcOptions = {
  unawareClients: "serve",
  maxConcurrentCalls: 1024,
  maxQueuedCalls: 1024,
  unaryDeadlineMs: 10 * 60_000,
  streamDeadlineMs: 6 * 3_600_000,
  firstMessageMs: 60_000,
  maxStreamsPerConnection: 1000,
  maxReceiveBytes: 4 * 1024 * 1024,
  windowBytes: 4 * 1024 * 1024,
  keepaliveMs: 5 * 60_000,
};
