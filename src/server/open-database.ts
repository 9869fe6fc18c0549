import type { Clock, Random } from "../base/index.ts";
import { createCatalog, startEmbeddedPostgres } from "../catalog/index.ts";
import { createLoadBalancer } from "../db/index.ts";
import type { Logger, Metrics } from "../observability/index.ts";
import { type CloseStack, disposeAsync } from "./close-stack.ts";
import type { LateCatalog } from "./late-catalog.ts";

/** Where the catalog's database is. */
export type DatabasePlace =
  /** The data directory of this node, or of another on the same host. */
  | { readonly kind: "embedded"; readonly directory: string }
  | { readonly kind: "urls"; readonly primary: string; readonly replicas: readonly string[] }
  | { readonly kind: "none" };

interface OpenDatabaseDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly closing: CloseStack;
}

/** For people: the place without user info. */
export function describeDatabase(place: DatabasePlace): string {
  if (place.kind === "embedded") return `embedded in ${place.directory}`;
  if (place.kind === "none") return "none; set database.url";
  return withoutUserInfo(place.primary);
}

/** A database URL without user info, fit for other nodes and for people. */
export function withoutUserInfo(url: string): string {
  if (!URL.canParse(url)) return "(not a url)";
  const parsed = new URL(url);
  parsed.username = "";
  parsed.password = "";
  return parsed.href;
}

/** Opens the database behind `catalog`. Never rejects: a node serves without it and says what is missing. */
export async function openDatabase(place: DatabasePlace, catalog: LateCatalog, deps: OpenDatabaseDeps): Promise<void> {
  try {
    const urls = await connectionUrls(place, deps);
    if (!urls) {
      catalog.explain("no database is known to this node; set database.url");
      return;
    }
    const { closing, ...parts } = deps;
    const database = closing.use("database", await createLoadBalancer(urls, parts), disposeAsync);
    catalog.set(closing.use("catalog", await createCatalog({}, { ...parts, database }), disposeAsync));
  } catch (error) {
    catalog.explain(`${error instanceof Error ? error.message : "the database cannot be opened"}; database.url names another`);
    deps.logger.error("the node serves without a database: listings fail, everything else goes on", {
      error,
      database: describeDatabase(place),
    });
  }
}

async function connectionUrls(
  place: DatabasePlace,
  deps: OpenDatabaseDeps,
): Promise<{ primary: string; replicas: readonly string[] } | undefined> {
  if (place.kind === "none") return undefined;
  if (place.kind === "urls") return place;
  const server = deps.closing.use("embedded database", await startEmbeddedPostgres({ dir: place.directory }, deps), disposeAsync);
  return { primary: server.url(), replicas: [] };
}
