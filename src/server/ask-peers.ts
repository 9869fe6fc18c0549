import { type Clock, CodedError, type Random, shuffle, splitHostPort, startDeadline } from "../base/index.ts";
import type { JoinAddress } from "../config/index.ts";
import type { Logger } from "../observability/index.ts";
import type { ClusterFacts } from "./cluster-file.ts";

/** What a member answers to a node that wants to join. */
export interface PeerAnswer extends ClusterFacts {
  readonly node: string;
  /** HOST:PORT of live gossip members. */
  readonly gossipAddresses: readonly string[];
}

export interface AskPeersDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** All addresses of a host name; literal addresses come back as they are. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /** `ClusterService.Bootstrap` at one gRPC address. */
  readonly bootstrap: (host: string, port: number, signal: AbortSignal) => Promise<PeerAnswer>;
  /** gRPC addresses, HOST:PORT, of the members that a gossip address knows; nothing is merged. */
  readonly gossipMembers: (host: string, port: number, signal: AbortSignal) => Promise<readonly string[]>;
}

/** A name with very many addresses is not asked at all of them. */
const maxAddressesPerTarget = 5;
const answerTimeoutMs = 2000;

/**
 * Asks one join target: every address of its name in turn, at most five, until one answers.
 * Errors: those of the last address; `node_unavailable` where the name has none.
 */
export async function askPeer(target: JoinAddress, deps: AskPeersDeps, signal: AbortSignal): Promise<PeerAnswer> {
  let failure: unknown = new CodedError("node_unavailable", "the join address has no addresses", { target: target.text });
  const hosts = shuffle(deps.random, [...(await deps.resolve(target.host))]).slice(0, maxAddressesPerTarget);
  for (const host of hosts) {
    using deadline = startDeadline(deps.clock, answerTimeoutMs, signal);
    try {
      if (target.scheme !== "gossip") return await deps.bootstrap(host, target.port, deadline.signal);
      return await askMembers(await deps.gossipMembers(host, target.port, deadline.signal), deps, deadline.signal);
    } catch (error) {
      if (signal.aborted) throw error;
      failure = error;
    }
  }
  throw failure;
}

/** A member of another cluster is no peer. Errors: `cluster_mismatch` with both ids. */
export function checkCluster(answer: PeerAnswer, target: JoinAddress, clusterId: string): void {
  if (answer.clusterId === clusterId) return;
  throw new CodedError("cluster_mismatch", "the join address belongs to another cluster", {
    target: target.text,
    theirs: answer.clusterId,
    ours: clusterId,
  });
}

/**
 * Asks all targets at once and once: what the first of them answers that does, undefined where none does.
 * Errors: `cluster_mismatch` where one belongs to another cluster.
 */
export async function askOnce(
  targets: readonly JoinAddress[],
  clusterId: string,
  deps: AskPeersDeps,
  signal: AbortSignal,
): Promise<PeerAnswer | undefined> {
  const answers = await Promise.all(
    targets.map(async (target) => {
      const answer = await askPeer(target, deps, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        deps.logger.warn("a join address does not answer", { target: target.text, error });
      });
      if (answer) checkCluster(answer, target, clusterId);
      return answer;
    }),
  );
  return answers.find((answer) => answer !== undefined);
}

async function askMembers(addresses: readonly string[], deps: AskPeersDeps, signal: AbortSignal): Promise<PeerAnswer> {
  let failure: unknown = new CodedError("node_unavailable", "the gossip address knows no node of this kind");
  for (const address of shuffle(deps.random, [...addresses]).slice(0, maxAddressesPerTarget)) {
    const { host, port } = toldAddress(address);
    try {
      return await deps.bootstrap(host, port, signal);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** The host and the port of an address that a peer told. Errors: `protocol_error`. */
export function toldAddress(address: string): { host: string; port: number } {
  const parts = splitHostPort(address);
  if (!parts) throw new CodedError("protocol_error", "an address is not HOST:PORT", { address: address.slice(0, 300) });
  return parts;
}
