import { type DiscoveredServer, serverKey } from "./source.ts";

/** A server of the list, and in how many answers in a row it was missing. */
export interface ListEntry {
  readonly server: DiscoveredServer;
  readonly missing: number;
}

/** A server is let go when this many valid answers in a row lack it. */
const answersBeforeRemoval = 2;

/**
 * The list after a valid answer. What the answer names is in. What it lacks goes only when the answer before lacked it too,
 * and stays as long as fewer than `minReplicas` of the others are known to be usable while it is: what a server
 * says itself counts for more than what is said of it.
 */
export function mergeAnswer(
  listed: readonly ListEntry[],
  answer: readonly DiscoveredServer[],
  { minReplicas }: { readonly minReplicas: number },
  isUsable: (key: string) => boolean,
): ListEntry[] {
  const named = new Set(answer.map(serverKey));
  const missing = listed
    .filter(({ server }) => !named.has(serverKey(server)))
    .map((entry) => ({ server: withoutPrimaryHint(entry.server), missing: entry.missing + 1 }));
  const kept = [...answer.map((server) => ({ server, missing: 0 })), ...missing.filter((entry) => entry.missing < answersBeforeRemoval)];
  const usable = (entry: ListEntry) => entry.server.role !== "primary" && isUsable(serverKey(entry.server));
  let usableCount = kept.filter(usable).length;
  for (const entry of missing) {
    if (entry.missing < answersBeforeRemoval || usableCount >= minReplicas || !usable(entry)) continue;
    kept.push(entry);
    usableCount++;
  }
  return kept;
}

/** Nobody vouches any more for a primary that is not in the answer. */
function withoutPrimaryHint(server: DiscoveredServer): DiscoveredServer {
  if (server.role !== "primary") return server;
  const { role: _role, ...rest } = server;
  return rest;
}

/** What changed between two lists, by key. */
export function listChanges(
  before: readonly DiscoveredServer[],
  after: readonly DiscoveredServer[],
): { added: string[]; removed: string[] } {
  const old = new Set(before.map(serverKey));
  const now = new Set(after.map(serverKey));
  return { added: [...now].filter((key) => !old.has(key)), removed: [...old].filter((key) => !now.has(key)) };
}
