import type { MemberRecord } from "../../src/gossip/index.ts";
import type { SimNode } from "./sim-cluster.ts";

/** Names that one node may have waiting to be gossiped, and some user messages. */
const maxQueueLength = 200;

/** What must hold in every view after every step, whatever the network does. */
export class ViewChecker {
  readonly #seen = new Map<SimNode, { snapshot: readonly MemberRecord[]; byName: Map<string, MemberRecord> }>();

  /** A new process: its view begins anew. */
  started(node: SimNode): void {
    const snapshot = node.member.members();
    this.#seen.set(node, { snapshot, byName: byName(snapshot) });
  }

  check(nodes: readonly SimNode[]): void {
    for (const node of nodes) {
      const before = this.#seen.get(node);
      const snapshot = node.member.members();
      if (!before || before.snapshot === snapshot) continue;
      const after = byName(snapshot);
      if (after.size !== snapshot.length) throw new Error(`${node.name} lists a name twice`);
      for (const record of snapshot) this.#checkRecord(node, before.byName.get(record.name), record);
      if (!after.has(node.name)) throw new Error(`${node.name} does not list itself`);
      const queued = node.readGauge("gitaly_cluster_gossip_queue_length");
      if (queued > maxQueueLength) throw new Error(`${node.name} has ${queued} messages queued`);
      this.#seen.set(node, { snapshot, byName: after });
    }
  }

  #checkRecord(node: SimNode, before: MemberRecord | undefined, after: MemberRecord): void {
    if (!before || after.incarnation >= before.incarnation) return;
    // Only a node that left may come back anew, and only at another address.
    if (before.state === "left" && before.host !== after.host) return;
    throw new Error(`${node.name} saw the incarnation of ${after.name} go from ${before.incarnation} back to ${after.incarnation}`);
  }
}

function byName(records: readonly MemberRecord[]): Map<string, MemberRecord> {
  return new Map(records.map((record) => [record.name, record]));
}
