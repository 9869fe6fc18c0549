import { isIP } from "node:net";
import { hostPort } from "../../base/index.ts";

/** A server as a source names it. The role is a hint: what a server is, it says itself over SQL. */
export interface DiscoveredServer {
  /** Name or address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** Undefined where the source cannot tell, or does not trust what it knows. */
  readonly role?: "primary" | "replica";
  /** What the source calls it, for people. */
  readonly name?: string;
}

/** What a source answered. */
export interface DiscoveryAnswer {
  readonly servers: readonly DiscoveredServer[];
  /** How long the answer holds, where the source says so. */
  readonly ttlMs?: number;
}

/** Where lists of servers come from. One lookup runs at a time. */
export interface DiscoverySource {
  /** Short and constant, fit for a metric's label: "dns", "patroni". */
  readonly name: string;
  /** What it says of roles binds, because it is what decides failovers. Default: they are hints. */
  readonly authoritative?: boolean;
  /**
   * Asks once. Rejects where there is no answer, and soon after `signal` aborts. An answer without servers is no answer
   * for those who use it: nothing is ever removed because of it.
   */
  lookup(signal: AbortSignal): Promise<DiscoveryAnswer>;
  /** Calls `onChange` when a lookup may answer differently. Goes on, through losses of the source, until `signal` aborts; never rejects. */
  watch?(onChange: () => void, signal: AbortSignal): Promise<void>;
}

/** HOST:PORT, which identifies a server. */
export function serverKey({ host, port }: Pick<DiscoveredServer, "host" | "port">): string {
  return hostPort(host.toLowerCase(), port);
}

/** Servers that are named properly, each once; the first mention of a server counts. Sources are not trusted to be tidy. */
export function tidyServers(servers: readonly DiscoveredServer[]): DiscoveredServer[] {
  const byKey = new Map<string, DiscoveredServer>();
  for (const server of servers) {
    if (!isServerHost(server.host) || !Number.isInteger(server.port) || server.port < 1 || server.port > 65_535) continue;
    const key = serverKey(server);
    if (!byKey.has(key)) byKey.set(key, { ...server, host: server.host.toLowerCase() });
  }
  return [...byKey.values()];
}

/** Whether `host` is an address or could be a name. */
export function isServerHost(host: unknown): host is string {
  if (typeof host !== "string" || host.length === 0 || host.length > 253) return false;
  return isIP(host) !== 0 || /^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?$/.test(host);
}
