import type { Clock } from "../base/index.ts";
import type { RepositoryCache } from "../cache/index.ts";
import type { Catalog } from "../catalog/index.ts";
import type { Git } from "../git/index.ts";
import type { Logger } from "../observability/index.ts";
import type { BootstrapResponse } from "../proto/gen/gitaly_gossip/v1/BootstrapResponse.ts";
import type { MemberView } from "../routing/index.ts";
import type { RepositoryStorage } from "../storage/index.ts";
import type { SmartHttp } from "./smart-http/smart-http.ts";

/** One thing a node looks at to say how it is. */
export interface NodeCheck {
  readonly name: string;
  readonly ok: boolean;
  /** What is wrong and what to do; empty when ok. */
  readonly message: string;
}

/** What a node knows of itself. */
export interface NodeFacts {
  readonly name: string;
  /** Version of this software. */
  readonly version: string;
  /** On the monotonic clock. */
  readonly startedAtMs: number;
  /** Empty while it is not known. */
  clusterId(): string;
  /** Where the store and the database are, without user info; for people. */
  places(): { readonly objectStorage: string; readonly database: string };
  state(): { readonly state: "warming" | "ready" | "draining"; readonly checks: readonly NodeCheck[] };
}

/** One of the database's servers. */
export interface DatabaseServerView {
  /** HOST:PORT. */
  readonly host: string;
  readonly role: "primary" | "replica" | "none";
  readonly usable: boolean;
  readonly reason: string;
  readonly lagBytes: number | null;
  readonly lagSeconds: number | null;
  readonly position: string | null;
  readonly inRecovery: boolean | null;
  readonly readOnly: boolean | null;
}

/** The database's servers as this node judges them. */
interface DatabaseView {
  readonly status: readonly DatabaseServerView[];
  /** Undefined without discovery. */
  readonly discoveryAgeMs: number | undefined;
  /** Discovery fails, and its list is too old. */
  readonly discoveryStale: boolean;
}

/** Everything the services may hold; each handler names the slice it needs. */
export interface ServicesDeps {
  readonly storage: RepositoryStorage;
  readonly cache: RepositoryCache;
  readonly git: Git;
  /** Shared with the HTTP gateway; `createSmartHttp` makes it. */
  readonly smartHttp: SmartHttp;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly node: NodeFacts;
  /** The one storage name that requests may use. */
  readonly storageName: string;
  /** Directory of the node's cache, for the numbers of its disk. */
  readonly cacheDir: string;
  /** The cluster as this node sees it now. */
  view(): MemberView;
  /** Calls `listener` after each change of `view()`, until disposed. */
  onViewChange(listener: () => void): Disposable;
  /** The database's servers as they are judged now; undefined while this node has no database. */
  database(): DatabaseView | undefined;
  /** What a joining node is told; undefined while this node has no store itself. */
  bootstrap(): BootstrapResponse | undefined;
}
