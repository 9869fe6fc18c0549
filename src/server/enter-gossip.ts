import { CodedError, packageVersion, startDeadline } from "../base/index.ts";
import type { Config } from "../config/index.ts";
import type { AskPeersDeps, PeerAnswer } from "./ask-peers.ts";
import { disposeAsync } from "./close-stack.ts";
import { JoinLoop } from "./join-loop.ts";
import { readKeptPeers } from "./kept-peers.ts";
import { wantedAddress } from "./listeners.ts";
import type { ClusterPlace } from "./locate-cluster.ts";
import { defaultRing, type RingSettings } from "./member-view.ts";
import { Membership } from "./membership.ts";
import type { NodeParts } from "./node-parts.ts";

/** How long a start waits for members of an earlier one. */
const keptPeersTimeoutMs = 2000;

export interface EnterGossip {
  readonly config: Config;
  readonly parts: NodeParts;
  readonly place: ClusterPlace;
  /** What a join target has just said; undefined where none answered. */
  readonly answer: PeerAnswer | undefined;
  readonly clusterId: string;
  readonly calls: AskPeersDeps;
}

/**
 * Enters gossip, `warming`, and tries once whoever may be there: join targets, members that were named by them, members of an
 * earlier start. Returns the loop that goes on trying. Errors: `failed_precondition` where another live node has this name,
 * `cluster_mismatch`.
 */
export async function enterGossip(
  enter: EnterGossip,
  onMembership: (membership: Membership) => void,
  signal: AbortSignal,
): Promise<JoinLoop> {
  const { parts, place, answer, clusterId, calls } = enter;
  signal.throwIfAborted();
  const membership = parts.closing.use("gossip", await startMembership(enter), disposeAsync);
  onMembership(membership);
  const loop = new JoinLoop(parts.targets, {
    ...calls,
    clusterId,
    self: parts.name,
    join: (addresses, joinSignal) => membership.join(addresses, joinSignal),
    alone: () => membership.alone,
    refused: parts.metrics.counter("gitaly_cluster_join_refused_total", "Join targets that turned out to belong to another cluster"),
  });
  if (place.gossipAddresses.length > 0) await membership.join(place.gossipAddresses, signal);
  await joinKeptPeers(membership, enter, signal);
  // Where no target answered a moment ago, the node serves first and goes on trying.
  if (answer) await loop.round(true, signal);
  return loop;
}

function startMembership({ config, parts, place, answer, clusterId }: EnterGossip): Promise<Membership> {
  const { clock, random, logger, metrics, name, listeners, views, keptPorts, avoidPorts } = parts;
  const { cluster } = config;
  const told = answer && { replicas: answer.replicas, hashSeed: BigInt(answer.hashSeed) };
  const ring: RingSettings = {
    replicas: cluster.replicas ?? place.replicas ?? told?.replicas ?? defaultRing.replicas,
    hashSeed: cluster.hashSeed ?? place.hashSeed ?? told?.hashSeed ?? defaultRing.hashSeed,
  };
  return Membership.start(
    {
      name,
      wanted: wantedAddress(config.gossip, keptPorts?.gossip, avoidPorts),
      avoidPorts,
      advertiseHost: config.advertiseHost,
      cluster,
      ring,
      facts: {
        grpcAddress: listeners.grpcAddress,
        httpUrl: listeners.httpUrl,
        weight: cluster.weight,
        zone: cluster.zone,
        version: packageVersion,
        clusterId,
      },
    },
    { clock, random, logger, metrics, views },
  );
}

/** Those that do not answer now are tried again by gossip itself. */
async function joinKeptPeers(membership: Membership, { parts, clusterId }: EnterGossip, signal: AbortSignal): Promise<void> {
  const peers = readKeptPeers(parts.dataDir, clusterId).filter((address) => address !== membership.address);
  if (peers.length === 0) return;
  using deadline = startDeadline(parts.clock, keptPeersTimeoutMs, signal);
  try {
    await membership.join(peers, deadline.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (CodedError.is(error, "failed_precondition")) throw error;
    if (CodedError.is(error, "cluster_mismatch")) parts.logger.error("members of an earlier start refuse this node", { error });
    else parts.logger.warn("members of an earlier start do not answer", { error });
  }
}
