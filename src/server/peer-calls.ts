import { lookup } from "node:dns/promises";
import { type Clock, hostPort, type Random, randomHex } from "../base/index.ts";
import { GitalyClient } from "../client/index.ts";
import type { Config } from "../config/index.ts";
import { bindUdpTcp, createMember } from "../gossip/index.ts";
import type { Logger } from "../observability/index.ts";
import type { AskPeersDeps, PeerAnswer } from "./ask-peers.ts";
import { clusterFactsOf } from "./cluster-file.ts";
import { gossipEncryption } from "./gossip-encryption.ts";
import { decodeNodeMeta } from "./node-meta.ts";

interface PeerCallsDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** The questions a joining node asks, over the network. */
export function peerCalls(options: { readonly self: string; readonly cluster: Config["cluster"] }, deps: PeerCallsDeps): AskPeersDeps {
  return {
    ...deps,
    resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
    bootstrap: async (host, port, signal): Promise<PeerAnswer> => {
      await using client = new GitalyClient({
        addresses: `grpc://${hostPort(host, port)}`,
        connectTimeoutMs: 1000,
      });
      const answer = await client.cluster.bootstrap({ node: options.self }, { signal });
      const facts = clusterFactsOf({ ...answer, replicas: Math.max(1, answer.replicas) });
      return { ...facts, node: answer.node, gossipAddresses: answer.gossipAddresses };
    },
    gossipMembers: async (host, port, signal) => {
      // A member of its own for the question, so that nothing of the answer is taken over.
      const member = await createMember(
        {
          name: `question-${randomHex(deps.random, 8)}`,
          bindHost: host.includes(":") ? "::" : "0.0.0.0",
          bindPort: 0,
          label: options.cluster.label,
          ...gossipEncryption(options.cluster),
        },
        { clock: deps.clock, random: deps.random, transport: (bind) => bindUdpTcp(bind, deps) },
      );
      try {
        const { members } = await member.queryMembers({ host, port }, signal);
        return members.flatMap(({ meta, state }) => (state === "alive" ? (decodeNodeMeta(meta)?.grpcAddress ?? []) : []));
      } finally {
        await member.destroy();
      }
    },
  };
}
