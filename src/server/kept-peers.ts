import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../base/index.ts";
import type { Logger } from "../observability/index.ts";
import { readFileIfExists, writeFileAtomic } from "./atomic-file.ts";

/** Enough to find a cluster again, few enough to ask at a start. */
const maxKept = 16;
const writeIntervalMs = 1000;
const schema = z.object({ clusterId: z.string(), gossip: z.array(z.string().max(300)).max(maxKept) });

const fileOf = (dataDir: string) => join(dataDir, "peers.json");

/**
 * Gossip addresses, HOST:PORT, of members of an earlier start, so that nodes that come back without a join address find each
 * other. None where the file is missing, damaged, or of another cluster.
 */
export function readKeptPeers(dataDir: string, clusterId: string): readonly string[] {
  try {
    const kept = schema.parse(JSON.parse(readFileIfExists(fileOf(dataDir)) ?? "null"));
    return kept.clusterId === clusterId ? kept.gossip : [];
  } catch {
    return [];
  }
}

/**
 * Keeps the addresses of live members, written at most once a second. The last members of a cluster that shrinks to one node
 * stay kept. Ends when the signal aborts.
 */
export async function keepPeers(
  dataDir: string,
  clusterId: string,
  livePeers: () => readonly string[],
  deps: { readonly clock: Clock; readonly logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  let written = readKeptPeers(dataDir, clusterId);
  while (!signal.aborted) {
    await deps.clock.sleep(writeIntervalMs, signal).catch(() => {});
    const live = [...livePeers()].sort().slice(0, maxKept);
    if (live.length === 0 || live.join() === written.join()) continue;
    // Tried once for each change: on a full disk the node goes on, and only a later start misses them.
    written = live;
    try {
      writeFileAtomic(fileOf(dataDir), `${JSON.stringify({ clusterId, gossip: live })}\n`);
    } catch (error) {
      deps.logger.warn("the members cannot be kept for a later start", { error });
    }
  }
}
