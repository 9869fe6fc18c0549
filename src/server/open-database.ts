import { createHash } from "node:crypto";
import { type Clock, CodedError, type Random } from "../base/index.ts";
import { createCatalog, startEmbeddedPostgres } from "../catalog/index.ts";
import type { Config } from "../config/index.ts";
import {
  connectRedis,
  createLoadBalancer,
  type DiscoveryOptions,
  type GivenLoadBalancerOptions,
  type LoadBalancer,
  Switches,
} from "../db/index.ts";
import type { Logger, Metrics } from "../observability/index.ts";
import { BackOff } from "./back-off.ts";
import { type CloseStack, disposeAsync } from "./close-stack.ts";
import type { Late } from "./late.ts";
import type { LateCatalog } from "./late-catalog.ts";

/** Where the catalog's database is. */
export type DatabasePlace =
  /** The data directory of this node, or of another on the same host. */
  | { readonly kind: "embedded"; readonly directory: string }
  | {
      readonly kind: "urls";
      readonly primary: string;
      readonly replicas: readonly string[];
      /** How this node finds more; each node for itself. */
      readonly discovery?: DiscoveryOptions;
    }
  | { readonly kind: "none" };

interface OpenDatabaseDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly closing: CloseStack;
  /** Receives the load balancer, for those who ask about its servers. */
  readonly database: Late<LoadBalancer>;
  readonly settings: DatabaseSettings;
}

/** How the servers are used, wherever they are. */
export interface DatabaseSettings extends Pick<Config["database"], "balancer" | "sticking" | "fleetWide"> {
  readonly clusterId: string;
  /** Nodes that use the database now, this one included. */
  readonly liveNodes: () => number;
}

const secretParameter = /^user$|password|passwd|secret|token/i;

/** For people: the place without user info. */
export function describeDatabase(place: DatabasePlace): string {
  if (place.kind === "embedded") return `embedded in ${place.directory}`;
  if (place.kind === "none") return "none; set database.url";
  return withoutUserInfo(place.primary);
}

/** A database URL without user info, in front of the host or as a parameter; fit for other nodes and for people. */
export function withoutUserInfo(url: string): string {
  if (!URL.canParse(url) || !url.includes("://")) return "(not a url)";
  const parsed = new URL(url);
  parsed.username = "";
  parsed.password = "";
  for (const name of [...parsed.searchParams.keys()]) if (secretParameter.test(name)) parsed.searchParams.delete(name);
  return parsed.href;
}

/**
 * Opens the database behind `catalog`, again and again until that works or `signal` aborts. Never rejects: a node serves
 * without it and says what is missing.
 */
export async function openDatabase(place: DatabasePlace, catalog: LateCatalog, deps: OpenDatabaseDeps, signal: AbortSignal): Promise<void> {
  if (place.kind === "none") {
    catalog.explain("no database is known to this node; set database.url");
    return;
  }
  const backOff = new BackOff({ firstMs: 1000, maxMs: 60_000 }, deps);
  while (!signal.aborted) {
    try {
      await open(place, catalog, deps, signal);
      return;
    } catch (error) {
      if (signal.aborted) return;
      catalog.explain(`${error instanceof Error ? error.message : "the database cannot be opened"}; database.url names another`);
      deps.logger.error("the node serves without a database: listings fail, everything else goes on", {
        error,
        database: describeDatabase(place),
      });
      if (CodedError.is(error, "bad_config")) return;
    }
    await backOff.wait(signal).catch(() => {});
  }
}

async function open(
  place: Exclude<DatabasePlace, { kind: "none" }>,
  catalog: LateCatalog,
  { closing, database: opened, settings, ...parts }: OpenDatabaseDeps,
  signal: AbortSignal,
): Promise<void> {
  const { balancer, fleetWide, liveNodes } = settings;
  const switches = new Switches(balancer.switches, "web");
  const options = {
    ...balancer,
    ...(await serversOf(place, { ...parts, closing }, signal)),
    switches,
    overload: { ...balancer.overload, ...(fleetWide ? { sharedBy: liveNodes } : {}) },
    sticking: { ...balancer.sticking, ...(await stickingOptions(settings, { ...parts, closing, switches })) },
  };
  const database = closing.use("database", await createLoadBalancer(options, parts), disposeAsync);
  opened.set(database);
  catalog.set(closing.use("catalog", await createCatalog({ startTimeoutMs: 0 }, { ...parts, database }), disposeAsync));
}

/** The servers at a place; an embedded one is started, and ended by `closing`. */
export async function serversOf(
  place: Exclude<DatabasePlace, { kind: "none" }>,
  { closing, ...parts }: Pick<OpenDatabaseDeps, "clock" | "random" | "logger" | "closing">,
  signal: AbortSignal,
): Promise<Pick<GivenLoadBalancerOptions, "primary" | "replicas" | "discovery">> {
  if (place.kind === "urls") {
    const { kind: _kind, ...servers } = place;
    return servers;
  }
  const server = closing.use("embedded database", await startEmbeddedPostgres({ dir: place.directory }, parts, signal), disposeAsync);
  return { primary: server.url() };
}

/** Who remembers what must be seen after a write. */
async function stickingOptions(
  { balancer, sticking: { store, redisUrl, secrets }, clusterId }: DatabaseSettings,
  { closing, logger, switches }: Pick<OpenDatabaseDeps, "closing" | "logger"> & { readonly switches: Switches },
) {
  if (store === "redis" && redisUrl !== undefined) {
    const { expirationMs } = balancer.sticking ?? {};
    const redis = await connectRedis(redisUrl, expirationMs === undefined ? {} : { expirationMs }, { logger, switches });
    return { store: closing.use("sticking store", redis, disposeAsync) };
  }
  // What another cluster has signed says nothing of this one's database.
  return store === "token" ? { secret: secrets ?? secretOf(clusterId), audience: clusterId } : {};
}

/** The same on every node of a cluster, without anyone having been told. */
function secretOf(clusterId: string): Uint8Array {
  return createHash("sha256").update(`gitaly-consistency\0${clusterId}`).digest();
}
