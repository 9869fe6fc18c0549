import type { AliveMessage, DeadMessage, PushNodeState, SuspectMessage } from "./codec/message.ts";
import type { MemberEvent } from "./member-event.ts";
import type { NodeRecord } from "./node-record.ts";

/** What gossip says about a node. */
export type Claim = AliveMessage | SuspectMessage | DeadMessage;

/** What can happen to the view. */
export type StateEvent =
  | Claim
  /** A node probes this one, so it lives and takes itself for a member. */
  | { readonly type: "heard"; readonly node: string; readonly address: Uint8Array; readonly port: number }
  /** A peer's view. `isSole`: nobody else is just now being told what this node knew before. */
  | { readonly type: "merge"; readonly nodes: readonly PushNodeState[]; readonly isSole: boolean }
  | { readonly type: "suspicionExpired"; readonly node: string; readonly incarnation: number }
  /** Two members found that nothing listens at the node's port: it need not be given time to refute. */
  | { readonly type: "refused"; readonly node: string; readonly incarnation: number }
  | { readonly type: "setMeta"; readonly meta: Uint8Array }
  /** The name's earlier life had this incarnation and does not answer any more. */
  | { readonly type: "succeed"; readonly incarnation: number }
  | { readonly type: "leave" }
  | { readonly type: "rejoin" }
  | { readonly type: "reap"; readonly olderThanMs: number };

/** What follows from it. */
export type Effect =
  | { readonly kind: "broadcast"; readonly message: Claim }
  | { readonly kind: "send"; readonly to: { readonly address: Uint8Array; readonly port: number }; readonly message: Claim }
  | { readonly kind: "event"; readonly event: MemberEvent }
  | { readonly kind: "armSuspicion"; readonly node: string; readonly incarnation: number; readonly delayMs: number }
  | { readonly kind: "disarmSuspicion"; readonly node: string }
  /** A node at this address lives and is not in the view. */
  | { readonly kind: "unknown"; readonly address: Uint8Array; readonly port: number }
  | { readonly kind: "refuted" }
  | { readonly kind: "forgotten"; readonly record: NodeRecord }
  | { readonly kind: "dropped"; readonly reason: "invalid" | "cluster" | "full" };
