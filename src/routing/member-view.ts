import type { Ring } from "../ring/index.ts";

export type MemberStatus = "warming" | "ready" | "draining" | "alive" | "suspect" | "failed" | "left";

/** One member as this node sees it. */
export interface MemberInfo {
  readonly name: string;
  readonly status: MemberStatus;
  /** HOST:PORT; "" for a foreign member. */
  readonly grpcAddress: string;
  readonly grpcTls: boolean;
  /** http://HOST:PORT */
  readonly httpUrl: string;
  /** HOST:PORT */
  readonly gossipAddress: string;
  readonly weight: number;
  readonly zone: string;
  readonly version: string;
}

/** An immutable picture of the cluster. Requests read it; the membership loop replaces it. */
export interface MemberView {
  readonly self: string;
  /** Sorted by name, this node included. */
  readonly members: readonly MemberInfo[];
  /** Over the sites: the members that are ready, suspects among them included. */
  readonly ring: Ring;
}
