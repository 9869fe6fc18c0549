import { CodedError } from "../base/index.ts";
import type { NodeMeta, NodeMeta__Output } from "../proto/gen/gitaly_gossip/v1/NodeMeta.ts";
import type { PushPullState, PushPullState__Output } from "../proto/gen/gitaly_gossip/v1/PushPullState.ts";
import { messageCodec } from "../proto/index.ts";
import { ringHashVersion } from "../ring/index.ts";

export type NodeState = "warming" | "ready" | "draining";

/** What a node tells the others about itself through gossip. */
export interface NodeFacts {
  /** HOST:PORT */
  readonly grpcAddress: string;
  readonly httpUrl: string;
  readonly weight: number;
  readonly zone: string;
  readonly state: NodeState;
  readonly version: string;
  readonly clusterId: string;
}

const metaCodec = messageCodec<NodeMeta, NodeMeta__Output>("gitaly_gossip.v1.NodeMeta");
const stateCodec = messageCodec<PushPullState, PushPullState__Output>("gitaly_gossip.v1.PushPullState");

const wireStates = { warming: "STATE_WARMING", ready: "STATE_READY", draining: "STATE_DRAINING" } as const;
const states: Record<string, NodeState> = { STATE_WARMING: "warming", STATE_READY: "ready", STATE_DRAINING: "draining" };

/** First 8 bytes of a cluster id (32 hexadecimal digits). */
function idPrefix(clusterId: string): Buffer {
  return Buffer.from(clusterId.slice(0, 16), "hex");
}

/** Encodes a node's metadata. Errors: `limit_exceeded` above 512 bytes. */
export function encodeNodeMeta(facts: NodeFacts): Uint8Array {
  const bytes = metaCodec.encode({
    grpcAddress: facts.grpcAddress,
    grpcTls: false,
    httpUrl: facts.httpUrl,
    weight: facts.weight,
    zone: facts.zone,
    state: wireStates[facts.state],
    ringHashVersion,
    version: facts.version,
    clusterIdPrefix: idPrefix(facts.clusterId),
  });
  if (bytes.length > 512) throw new CodedError("limit_exceeded", "node metadata is larger than 512 bytes", { sizeBytes: bytes.length });
  return bytes;
}

/** What another member's metadata says; undefined for a member that is not a node of ours. */
export function decodeNodeMeta(
  bytes: Uint8Array,
): (Omit<NodeFacts, "clusterId"> & { grpcTls: boolean; clusterIdPrefix: Buffer }) | undefined {
  let message: NodeMeta__Output;
  try {
    message = metaCodec.decode(bytes);
  } catch {
    return undefined;
  }
  const state = states[message.state];
  if (!state || !/^.{1,255}:\d{1,5}$/.test(message.grpcAddress) || message.clusterIdPrefix.length !== 8) return undefined;
  return {
    grpcAddress: message.grpcAddress,
    grpcTls: message.grpcTls,
    httpUrl: message.httpUrl,
    weight: message.ringHashVersion === ringHashVersion ? message.weight : 0,
    zone: message.zone,
    state,
    version: message.version,
    clusterIdPrefix: message.clusterIdPrefix,
  };
}

/** Whether metadata may belong to a member of this cluster: a foreign member names no cluster and is accepted. */
export function belongsToCluster(meta: Uint8Array, clusterId: string): boolean {
  const node = decodeNodeMeta(meta);
  return !node || node.clusterIdPrefix.equals(idPrefix(clusterId));
}

/** The user state of a push/pull. */
export function encodePushPullState(clusterId: string): Uint8Array {
  return stateCodec.encode({ clusterId });
}

/** The cluster id in a peer's push/pull state; undefined where it names none. */
export function decodePushPullState(bytes: Uint8Array): string | undefined {
  try {
    return stateCodec.decode(bytes).clusterId || undefined;
  } catch {
    return undefined;
  }
}
