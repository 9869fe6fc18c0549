export type { StatementKind } from "./analyse.ts";
export { type Classification, type ClassifierOptions, classify } from "./classify.ts";
export type { QueryResult } from "./hosts/host.ts";
export { createLoadBalancer, type LoadBalancer } from "./load-balancer.ts";
export {
  defaultLoadBalancerOptions,
  type HostStatus,
  type LoadBalancerDeps,
  type LoadBalancerOptions,
  type QueryOptions,
  type SessionOptions,
  type TransactionHandle,
  type TransactionOptions,
} from "./options.ts";
export { formatLsn, formatPosition, isReached, type Position, parseLsn, parsePosition } from "./position/position.ts";
export type { StickKey } from "./sticking.ts";
