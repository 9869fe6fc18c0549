export type { CallInfo, CallOptions, ClientOptions } from "./client-options.ts";
export { type ClientDeps, GitalyClient } from "./gitaly-client.ts";
