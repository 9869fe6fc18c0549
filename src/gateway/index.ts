export { createGateway } from "./create-gateway.ts";
export type { Gateway, ListenerAddress } from "./gateway.ts";
export { defaultGatewayOptions, type GatewayDeps, type GatewayOptions } from "./gateway-options.ts";
