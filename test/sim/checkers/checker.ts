import type { MemberEvent } from "../../../src/gossip/index.ts";
import type { SimNode } from "../sim-node.ts";

/** An event about a member, without the user messages. */
export type MembershipEvent = Exclude<MemberEvent, { type: "message" }>;

/** Something that must hold whatever happens. It hears of every change when it happens, and once in each virtual second; it throws where the rule is broken. */
export interface Checker {
  started?(node: SimNode): void;
  ended?(node: SimNode, nowMs: number): void;
  /** A view changed. */
  event?(viewer: SimNode, event: MembershipEvent, nowMs: number): void;
  everySecond?(nowMs: number): void;
}
