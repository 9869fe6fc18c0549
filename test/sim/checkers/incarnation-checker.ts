import type { MemberRecord } from "../../../src/gossip/index.ts";
import type { SimNode } from "../sim-node.ts";
import type { Checker, MembershipEvent } from "./checker.ts";

/** What was seen of a name that is gone is kept for this long. */
const memoryMs = 600_000;
const pruneIntervalMs = 60_000;

interface Seen {
  readonly record: MemberRecord;
  readonly atMs: number;
}

/** Within one view no incarnation goes back, unless the node was forgotten in between, or left and came back elsewhere. */
export class IncarnationChecker implements Checker {
  readonly #seen = new Map<SimNode, Map<string, Seen>>();
  #prunedMs = 0;

  ended(node: SimNode): void {
    this.#seen.delete(node);
  }

  event(viewer: SimNode, event: MembershipEvent, nowMs: number): void {
    if (event.type === "conflict") return;
    const { member } = event;
    const seen = this.#seen.get(viewer) ?? new Map<string, Seen>();
    this.#seen.set(viewer, seen);
    const before = seen.get(member.name)?.record;
    const isNew = event.type === "joined" && event.reason === "new";
    const movedAfterLeave = before?.state === "left" && before.host !== member.host;
    if (before && !isNew && !movedAfterLeave && member.incarnation < before.incarnation) {
      throw new Error(`${viewer.name} saw ${member.name} go from incarnation ${before.incarnation} back to ${member.incarnation}`);
    }
    // Most never get beyond their first incarnation; nothing goes back below it.
    if (member.incarnation > 1 || before) seen.set(member.name, { record: member, atMs: nowMs });
  }

  everySecond(nowMs: number): void {
    if (nowMs - this.#prunedMs < pruneIntervalMs) return;
    this.#prunedMs = nowMs;
    for (const seen of this.#seen.values()) {
      for (const [name, { record, atMs }] of seen) {
        if ((record.state === "dead" || record.state === "left") && nowMs - atMs > memoryMs) seen.delete(name);
      }
    }
  }
}
