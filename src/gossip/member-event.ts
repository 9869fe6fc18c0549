import type { NodeState } from "./codec/message.ts";

/** One member as this one sees it. Never changes; a newer picture is another object. */
export interface MemberRecord {
  readonly name: string;
  /** The advertised IP address. */
  readonly host: string;
  readonly port: number;
  readonly meta: Uint8Array;
  readonly state: NodeState;
  readonly incarnation: number;
}

/**
 * Why a member is held for dead: it did not refute the suspicion in time (`timeout`), another member says so (`declared`),
 * or two members' streams to its port were refused (`refused`).
 */
export type FailureReason = "timeout" | "declared" | "refused";

/** A change of the membership, in the order in which this member learned of it. */
export type MemberEvent =
  /** A node is a member now: `new`, or `returned` after it had failed or left. */
  | { readonly type: "joined"; readonly member: MemberRecord; readonly from: string; readonly reason: "new" | "returned" }
  /** A member has other metadata, another address, or is no longer a suspect. */
  | { readonly type: "updated"; readonly member: MemberRecord; readonly from: string; readonly reason: "meta" | "address" | "refuted" }
  /** A member does not answer `from`; it has time to refute. */
  | { readonly type: "suspected"; readonly member: MemberRecord; readonly from: string; readonly reason: "unreachable" }
  /** A suspect did not refute in time, here or at `from`, or nothing listens at its port any more. */
  | { readonly type: "failed"; readonly member: MemberRecord; readonly from: string; readonly reason: FailureReason }
  /** A member said that it leaves. */
  | { readonly type: "left"; readonly member: MemberRecord; readonly from: string; readonly reason: "leave" }
  /** Two live nodes use one name. `member` is the one that all keep, `other` the address of the other. */
  | {
      readonly type: "conflict";
      readonly member: MemberRecord;
      readonly from: string;
      readonly reason: "name";
      /** HOST:PORT */
      readonly other: string;
      /** True on the node that is not kept. */
      readonly lost: boolean;
    }
  /** A user message that a member broadcast. */
  | { readonly type: "message"; readonly payload: Uint8Array };
