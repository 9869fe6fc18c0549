import { CodedError, hostPort } from "../../base/index.ts";
import { type ConnectionTarget, parseConnectionUrl, parseServerAddress, type ServerAddress } from "./connection-url.ts";

/** A server that the configuration or a source of discovery names. */
export interface ListedServer {
  readonly address: ServerAddress;
  /** What the configuration calls it; a hint, until it has been asked. */
  readonly hint: "primary" | "replica" | undefined;
  /** What a source that knows about failovers calls it now. Nothing else becomes primary while it names one. */
  readonly verdict: "primary" | "replica" | undefined;
  /** Whether it may become primary. */
  readonly mayWrite: boolean;
  /** When it serves reads that look for a replica: `as_replica` means while it is one. */
  readonly reads: "never" | "as_replica" | "always";
}

/** A server as sources of discovery give it. */
export interface FoundServer {
  readonly host: string;
  readonly port: number;
  readonly role?: "primary" | "replica";
}

/** The most servers a load balancer knows at once. */
const maxServers = 256;

/**
 * The servers of `primary`, which may be a URL of several, and of `replicas`: URLs, `HOST` or `HOST:PORT`.
 * Errors: `bad_config`.
 */
export function listServers(primary: string, replicas: readonly string[]): readonly ListedServer[] {
  const target = parseConnectionUrl(primary, "primary");
  const like = target.servers[0];
  const listed = new Map(ofTarget(target).map((server) => [server.address.name, server]));
  replicas.forEach((text, i) => {
    const address = parseServerAddress(text, `replicas[${i}]`, like);
    const known = listed.get(address.name);
    listed.set(
      address.name,
      known
        ? { ...known, reads: known.hint === "primary" ? "always" : "as_replica" }
        : {
            address,
            hint: "replica",
            verdict: undefined,
            mayWrite: target.target !== "standby" && target.target !== "read-only",
            reads: "as_replica",
          },
    );
  });
  if (listed.size > maxServers) throw new CodedError("bad_config", "too many database servers", { servers: listed.size, maxServers });
  return [...listed.values()];
}

/** HOST:PORT of the servers that the configuration lists, as `status` has it. Errors: `bad_config`. */
export function serverNames(primary: string, replicas: readonly string[]): readonly string[] {
  return listServers(primary, replicas).map(({ address }) => address.name);
}

/**
 * Adds what was found to the configured servers, which always stay. `authoritative`: the source knows about failovers, and what
 * it says of a role binds; otherwise it is a hint. What does not fit into the list is left out.
 */
export function addFound(
  configured: readonly ListedServer[],
  found: readonly FoundServer[],
  { authoritative }: { authoritative: boolean },
): readonly ListedServer[] {
  const like = configured[0]?.address;
  if (!like) return [];
  const listed = new Map(configured.map((server) => [server.address.name, server]));
  for (const { host, port, role } of found) {
    const address = parseServerAddress(hostPort(host, port), "discovery", like);
    const verdict = authoritative ? role : undefined;
    const known = listed.get(address.name);
    if (known) listed.set(address.name, { ...known, verdict });
    else if (listed.size < maxServers)
      listed.set(address.name, { address, hint: role ?? "replica", verdict, mayWrite: true, reads: "as_replica" });
  }
  return [...listed.values()];
}

function ofTarget({ servers, target }: ConnectionTarget): ListedServer[] {
  const onlyStandbys = target === "standby" || target === "read-only";
  const onlyPrimary = target === "primary" || target === "read-write";
  const hint = onlyStandbys ? "replica" : servers.length === 1 ? "primary" : undefined;
  return servers.map((address) => ({
    address,
    hint,
    verdict: undefined,
    mayWrite: !onlyStandbys,
    reads: onlyPrimary ? "never" : "as_replica",
  }));
}
