/** A node that someone, mostly itself, says is a member. */
export interface ClaimedNode {
  readonly name: string;
  /** The advertised IP address. */
  readonly host: string;
  readonly port: number;
  readonly meta: Uint8Array;
}

/** Keeps clusters apart. What travels is opaque here; the caller encodes and reads it. */
export interface ClusterGuard {
  /** Sent with each full exchange of state. */
  userState(): Uint8Array;
  /** False: the peer that sent `bytes` belongs to another cluster. Must not throw. */
  acceptUserState(bytes: Uint8Array): boolean;
  /** False: this node is not taken as a member, whoever claims that it is one. Must not throw. */
  acceptNode(node: ClaimedNode): boolean;
}

export interface ClusterGuardOptions {
  /** Undefined while this node does not know it. */
  readonly clusterId: () => string | undefined;
  /** True: peers that send no id are refused. */
  readonly requireId: boolean;
}

/** How the id is written. Decoders may throw; "" means that there is none. */
export interface ClusterIdCodec {
  encodeUserState(clusterId: string): Uint8Array;
  clusterIdOfUserState(bytes: Uint8Array): string;
  /** The id as metadata can name it, for example its first bytes in hexadecimal. */
  metaIdOf(clusterId: string): string;
  metaIdOfMeta(meta: Uint8Array): string;
}

/** A guard that compares cluster ids. Bytes that cannot be read are those of a foreign member, which sends no id. */
export function createClusterGuard(options: ClusterGuardOptions, codec: ClusterIdCodec): ClusterGuard {
  const readOr = (read: () => string): string => {
    try {
      return read();
    } catch {
      return "";
    }
  };
  const accepts = (theirs: string, ours: string | undefined) => {
    if (ours === undefined) return true;
    return theirs === "" ? !options.requireId : theirs === ours;
  };
  return {
    userState: () => codec.encodeUserState(options.clusterId() ?? ""),
    acceptUserState: (bytes) => {
      return accepts(
        readOr(() => codec.clusterIdOfUserState(bytes)),
        options.clusterId(),
      );
    },
    acceptNode: ({ meta }) => {
      const id = options.clusterId();
      return accepts(
        readOr(() => codec.metaIdOfMeta(meta)),
        id === undefined ? undefined : codec.metaIdOf(id),
      );
    },
  };
}

/** Takes everyone. */
export const openClusterGuard: ClusterGuard = {
  userState: () => new Uint8Array(),
  acceptUserState: () => true,
  acceptNode: () => true,
};
