import { abortable, type Clock, CodedError, linkSignals, sharedAbortController, startDeadline } from "../../base/index.ts";
import { type HttpAnswer, type HttpGet, httpGet } from "./http-get.ts";
import type { DiscoveredServer, DiscoveryAnswer, DiscoverySource } from "./source.ts";

/** A cluster that Patroni looks after. */
export interface PatroniSourceOptions {
  /** Base URLs of the REST API of some or all members, `http://db1:8008`; any one that answers knows all. */
  readonly endpoints: readonly string[];
}

/** What the source works with. */
export interface PatroniSourceDeps {
  readonly clock: Clock;
  readonly get?: HttpGet;
}

/** An endpoint that has not answered by then gets company from the next one. */
const hedgeMs = 300;
const maxEndpoints = 64;

/** Asks Patroni who is in the cluster. The roles are hints: its answers trail the servers by up to some seconds. */
export class PatroniSource implements DiscoverySource {
  readonly name = "patroni";
  readonly #endpoints: readonly URL[];
  readonly #deps: PatroniSourceDeps;
  /** The endpoint that answered last is asked first. */
  #first = 0;

  constructor(options: PatroniSourceOptions, deps: PatroniSourceDeps) {
    const { endpoints } = options;
    if (!Array.isArray(endpoints) || endpoints.length === 0 || endpoints.length > maxEndpoints) {
      throw new CodedError("bad_config", "Patroni needs one endpoint at least", {
        key: "discovery.endpoints",
        maxEndpoints,
      });
    }
    this.#endpoints = endpoints.map(clusterUrl);
    this.#deps = deps;
  }

  async lookup(signal: AbortSignal): Promise<DiscoveryAnswer> {
    signal.throwIfAborted();
    const stop = sharedAbortController();
    using linked = linkSignals(signal, stop.signal);
    const order = this.#endpoints.map((_, i) => (this.#first + i) % this.#endpoints.length);
    const failures: unknown[] = [];
    try {
      const { index, servers } = await this.#race(order, failures, linked.signal);
      this.#first = index;
      return { servers };
    } catch (error) {
      signal.throwIfAborted();
      throw new CodedError("node_unavailable", "no endpoint of Patroni answers", { failures: failures.map(String) }, { cause: error });
    } finally {
      stop.abort();
    }
  }

  /** The first good answer; the next endpoint is asked as soon as one fails, or takes long. */
  async #race(order: readonly number[], failures: unknown[], signal: AbortSignal): Promise<{ index: number; servers: DiscoveredServer[] }> {
    const attempts: Promise<{ index: number; servers: DiscoveredServer[] }>[] = [];
    for (const index of order) {
      const attempt = this.#ask(this.#endpoints[index] as URL, signal).then((servers) => ({ index, servers }));
      attempt.catch((error) => failures.push(error));
      attempts.push(attempt);
      using patience = startDeadline(this.#deps.clock, hedgeMs, signal);
      const outcome = await abortable(Promise.race([attempt, Promise.any(attempts)]), patience.signal).catch(() => undefined);
      if (outcome) return outcome;
      if (signal.aborted) break;
    }
    return await Promise.any(attempts);
  }

  async #ask(url: URL, signal: AbortSignal): Promise<DiscoveredServer[]> {
    const { get = httpGet } = this.#deps;
    return serversOfCluster(await get(url, signal));
  }
}

function clusterUrl(endpoint: string): URL {
  if (!URL.canParse(endpoint) || !/^https?:\/\//.test(endpoint)) {
    throw new CodedError("bad_config", "an endpoint of Patroni is http://HOST:PORT", { key: "discovery.endpoints" });
  }
  const url = new URL(endpoint);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/cluster`;
  return url;
}

const leaders: ReadonlySet<unknown> = new Set(["leader", "master", "primary"]);
const followers: ReadonlySet<unknown> = new Set(["replica", "sync_standby", "quorum_standby", "standby_leader"]);
// Later versions say "streaming" and "in archive recovery" of replicas.
const serving: ReadonlySet<unknown> = new Set(["running", "streaming", "in archive recovery"]);

/** The members that serve. Errors: `node_unavailable`, `protocol_error`. */
function serversOfCluster({ status, body }: HttpAnswer): DiscoveredServer[] {
  if (status !== 200) throw new CodedError("node_unavailable", "Patroni does not know its cluster", { status });
  let members: unknown;
  try {
    members = (JSON.parse(body) as { members?: unknown } | null)?.members;
  } catch (error) {
    throw new CodedError("protocol_error", "an answer of Patroni cannot be read", {}, { cause: error });
  }
  if (!Array.isArray(members)) throw new CodedError("protocol_error", "an answer of Patroni names no members");
  return members.flatMap((member: Record<string, unknown> | null) => {
    if (typeof member !== "object" || member === null) return [];
    const { host, port, role, state, name, tags } = member;
    if (typeof host !== "string" || typeof port !== "number" || !serving.has(state)) return [];
    const isFollower = followers.has(role);
    if (isFollower && (tags as { noloadbalance?: unknown } | undefined)?.noloadbalance === true) return [];
    const known = leaders.has(role) ? ("primary" as const) : isFollower ? ("replica" as const) : undefined;
    return [{ host, port, ...(known ? { role: known } : {}), ...(typeof name === "string" ? { name } : {}) }];
  });
}
