export type { StatementKind } from "./analyse.ts";
export { type Classification, type ClassifierOptions, classify } from "./classify.ts";
export {
  DiscoveryLoop,
  type DiscoveryLoopDeps,
  type DiscoveryLoopOptions,
  defaultDiscoveryLoopOptions,
} from "./discovery/discovery-loop.ts";
export { DnsSource, type DnsSourceDeps, type DnsSourceOptions, defaultDnsSourceOptions } from "./discovery/dns/dns-source.ts";
export type { DiscoveredServer, DiscoveryAnswer, DiscoverySource } from "./discovery/source.ts";
export { StaticSource } from "./discovery/static-source.ts";
export type { QueryResult } from "./hosts/host.ts";
export type { HostStatus } from "./hosts/host-status.ts";
export { createLoadBalancer, type LoadBalancer } from "./load-balancer.ts";
export {
  defaultLoadBalancerOptions,
  type LoadBalancerDeps,
  type LoadBalancerOptions,
  type QueryOptions,
  type SessionOptions,
  type TransactionHandle,
  type TransactionOptions,
} from "./options.ts";
export { formatLsn, formatPosition, isReached, type Position, parseLsn, parsePosition } from "./position/position.ts";
export { type PositionTokenOptions, PositionTokens, type TokenVerdict } from "./sticking/position-tokens.ts";
export { type RedisCommands, type RedisStickingOptions, RedisStickingStore } from "./sticking/redis-sticking-store.ts";
export type { StickingStore } from "./sticking/sticking-store.ts";
export type { StickKey } from "./sticking.ts";
