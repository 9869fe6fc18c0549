export { createLogger, createMetrics, type Logger, type LogLevel, type Metrics, type MetricsRegistry } from "../observability/index.ts";
export type { StatementKind } from "./analyse.ts";
export { type Classification, type ClassifierOptions, classify } from "./classify.ts";
export { createLoadBalancer, type GivenLoadBalancerOptions } from "./create-load-balancer.ts";
export { createLoadBalancers } from "./create-load-balancers.ts";
export type { DiscoveryOptions } from "./discovery/discovery-options.ts";
export type { DiscoveredServer, DiscoveryAnswer, DiscoverySource } from "./discovery/source.ts";
export { StaticSource } from "./discovery/static-source.ts";
export type { HostStatus } from "./hosts/host-status.ts";
export { serverNames } from "./hosts/listed-server.ts";
export type { QueryResult } from "./hosts/query.ts";
export type { CapturedPosition, DataConsistency, JobCheck, JobOptions, JobPositions, JobStrategy } from "./jobs/job-positions.ts";
export type { LoadBalancer } from "./load-balancer.ts";
export type { DatabaseChoice, LoadBalancers } from "./load-balancers.ts";
export {
  defaultLoadBalancerOptions,
  type LoadBalancerDeps,
  type LoadBalancerOptions,
  type QueryOptions,
  type SessionOptions,
  type SharedStickingOptions,
  type TransactionHandle,
  type TransactionOptions,
} from "./options.ts";
export { defaultOverloadOptions, type OverloadOptions } from "./overload/overload-options.ts";
export { PrimaryShedError, type ShedReason } from "./overload/primary-shed-error.ts";
export { formatLsn, formatPosition, isReached, type Position, parseLsn, parsePosition } from "./position/position.ts";
export { primaryOf, type RoleEndpointOptions, type RoleView } from "./roles-http/role-answer.ts";
export { type RoleEndpoints, roleEndpoints } from "./roles-http/role-endpoints.ts";
export { rolePaths } from "./roles-http/role-question.ts";
export { type ConnectRedisDeps, connectRedis } from "./sticking/connect-redis.ts";
export { type PositionTokenOptions, PositionTokens, type TokenVerdict } from "./sticking/position-tokens.ts";
export { type RedisCommands, type RedisStickingOptions, RedisStickingStore } from "./sticking/redis-sticking-store.ts";
export type { StickKey } from "./sticking/sticking-key.ts";
export type { StickingStore } from "./sticking/sticking-store.ts";
export type { TokenStickingStore } from "./sticking/token-sticking-store.ts";
export { type ProcessRole, Switches, type SwitchName, type SwitchSetting, type SwitchSettings, type SwitchValues } from "./switches.ts";
