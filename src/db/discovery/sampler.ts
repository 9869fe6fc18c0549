import { createHash } from "node:crypto";
import { compareUtf8 } from "../../base/index.ts";
import { type DiscoveredServer, serverKey } from "./source.ts";

/** The servers to connect to, and those left out. */
export interface Sample {
  readonly chosen: readonly DiscoveredServer[];
  readonly excluded: readonly DiscoveredServer[];
}

/**
 * At most `max` of `servers`, spread over hosts: one of each host in turn. The seed decides which, so that processes with seeds of
 * their own share the load; a server that comes or goes changes the choice as little as it can. Primaries are not counted.
 */
export function sampleServers(servers: readonly DiscoveredServer[], max: number, seed: string): Sample {
  const candidates = servers.filter((server) => server.role !== "primary");
  if (candidates.length <= max) return { chosen: servers, excluded: [] };
  const byHost = new Map<string, { server: DiscoveredServer; rank: string }[]>();
  for (const server of candidates) {
    const ranked = { server, rank: rankOf(seed, serverKey(server)) };
    const host = server.host.toLowerCase();
    byHost.set(host, [...(byHost.get(host) ?? []), ranked]);
  }
  const order = [...byHost].map(([host, ranked]) => ({ hostRank: rankOf(seed, host), ranked: ranked.sort(byRank) }));
  const turns = order.flatMap(({ hostRank, ranked }) => ranked.map(({ server }, turn) => ({ server, turn, rank: hostRank })));
  turns.sort((a, b) => a.turn - b.turn || byRank(a, b));
  const chosen = new Set(turns.slice(0, max).map(({ server }) => server));
  return {
    chosen: servers.filter((server) => server.role === "primary" || chosen.has(server)),
    excluded: candidates.filter((server) => !chosen.has(server)),
  };
}

function rankOf(seed: string, key: string): string {
  return createHash("sha256").update(`${seed}\0${key}`).digest("hex");
}

function byRank(a: { rank: string }, b: { rank: string }): number {
  return compareUtf8(a.rank, b.rank);
}
