import type { Clock, Random } from "../base/index.ts";
import type { RepositoryCache } from "../cache/index.ts";
import type { JoinAddress } from "../config/index.ts";
import type { LoadBalancer } from "../db/index.ts";
import type { Logger, MetricsRegistry } from "../observability/index.ts";
import type { RepositoryStorage } from "../storage/index.ts";
import type { CloseStack } from "./close-stack.ts";
import type { KeptPorts } from "./kept-addresses.ts";
import type { Late } from "./late.ts";
import type { LateCatalog } from "./late-catalog.ts";
import type { Listeners } from "./listeners.ts";
import type { MemberViews } from "./member-view.ts";
import type { NodeStatus } from "./node-status.ts";

/** What a node starts with: listeners that accept, and places for what it finds. */
export interface NodeParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly closing: CloseStack;
  readonly dataDir: string;
  readonly cacheDir: string;
  readonly name: string;
  readonly targets: readonly JoinAddress[];
  readonly keptPorts: KeptPorts | undefined;
  readonly avoidPorts: ReadonlySet<number>;
  readonly listeners: Listeners;
  readonly status: NodeStatus;
  readonly views: MemberViews;
  readonly storage: Late<RepositoryStorage>;
  readonly cache: Late<RepositoryCache>;
  readonly catalog: LateCatalog;
  readonly database: Late<LoadBalancer>;
}
