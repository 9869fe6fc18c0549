import type { FastifyInstance } from "fastify";
import type { Clock } from "../base/index.ts";
import type { Logger, MetricsRegistry } from "../observability/index.ts";
import type { MemberView } from "../routing/index.ts";
import type { SmartHttp } from "../services/index.ts";

export interface GatewayOptions {
  /** Answers `Gitaly-Node`. */
  readonly nodeName: string;
  /**
   * Whether anonymous ref advertisements are sent to an owner, or this node answers them. Must be "relay" where the listener asks for
   * credentials: git forgets a redirect that follows a 401.
   */
  readonly http: "redirect" | "relay";
  /** Whether `/metrics` is served here. */
  readonly metricsRoute: boolean;
  /** Time without a byte, in either direction, after which a client is given up. */
  readonly idleTimeoutMs: number;
  /** What a compressed request body may grow to. */
  readonly maxInflatedBytes: number;
  /** Git requests served at one time; as many again wait, the next is refused. */
  readonly maxRequests: number;
  /** Bytes of a request's line and headers. */
  readonly maxHeaderBytes: number;
  /** Time that a connection without a request stays open. git keeps one while it packs. */
  readonly keepAliveTimeoutMs: number;
}

export const defaultGatewayOptions: Omit<GatewayOptions, "nodeName"> = {
  http: "redirect",
  metricsRoute: true,
  idleTimeoutMs: 120_000,
  maxInflatedBytes: 1024 ** 3,
  maxRequests: 512,
  maxHeaderBytes: 16 * 1024,
  keepAliveTimeoutMs: 75_000,
};

export interface GatewayDeps {
  readonly smartHttp: SmartHttp;
  readonly view: () => MemberView;
  /** The k of a repository where it has one of its own. */
  readonly replicasOf: (path: string) => number | undefined;
  readonly ready: () => { readonly ready: boolean; readonly reason: string };
  /**
   * What a client that has pushed to `path`, and brought `given` along to see its own writes, is to bring next time; undefined where the
   * node gives nothing. Default: it gives nothing.
   */
  readonly consistency?: (path: string, given: readonly string[], signal: AbortSignal) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  /** Adds routes of other parts. A route whose path ends like one of git's is never reached. */
  readonly extraRoutes?: (app: FastifyInstance) => void | Promise<void>;
}
