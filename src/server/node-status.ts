import type { NodeState } from "./node-meta.ts";

/** What the node is doing, written by its start and its drain, read by everyone. */
export class NodeStatus {
  state: NodeState = "warming";
  /** What a warming node waits for, in a few words; "" when nothing. */
  waitingFor = "starting";
}
