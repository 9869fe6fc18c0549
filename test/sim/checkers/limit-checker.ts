import type { MemberRecord } from "../../../src/gossip/index.ts";
import { bounds } from "../bounds.ts";
import type { SimNode } from "../sim-node.ts";
import type { Checker } from "./checker.ts";

export interface LimitDeps {
  readonly nodes: () => Iterable<SimNode>;
  readonly timersOf: (node: SimNode) => number;
  readonly streamsOf: (node: SimNode) => number;
}

/** Each node is looked at once in this many seconds. */
const rounds = 10;

/** Queues, timers, streams and views stay within their bounds, and no view lists a name twice. */
export class LimitChecker implements Checker {
  readonly #deps: LimitDeps;
  /** Names that run, and when those that do not any more ended. */
  readonly #endedMs = new Map<string, number>();
  readonly #running = new Map<string, number>();
  readonly #checked = new WeakMap<SimNode, readonly MemberRecord[]>();
  #round = 0;

  constructor(deps: LimitDeps) {
    this.#deps = deps;
  }

  started({ name }: SimNode): void {
    this.#running.set(name, (this.#running.get(name) ?? 0) + 1);
  }

  ended({ name }: SimNode, nowMs: number): void {
    const left = (this.#running.get(name) ?? 1) - 1;
    if (left > 0) return void this.#running.set(name, left);
    this.#running.delete(name);
    this.#endedMs.delete(name);
    this.#endedMs.set(name, nowMs);
  }

  everySecond(nowMs: number): void {
    this.#round = (this.#round + 1) % rounds;
    for (const [name, endedMs] of this.#endedMs) {
      if (nowMs - endedMs <= bounds.forgottenMs(this.#running.size)) break;
      this.#endedMs.delete(name);
    }
    let at = 0;
    for (const node of this.#deps.nodes()) if (at++ % rounds === this.#round) this.#check(node);
  }

  #check(node: SimNode): void {
    const view = node.member.members();
    const queued = node.readGauge("gitaly_cluster_gossip_queue_length");
    const streams = this.#deps.streamsOf(node);
    const timers = this.#deps.timersOf(node);
    atMost(node, "messages in its queue", queued, bounds.queueLength(view.length));
    atMost(node, "open streams", streams, bounds.streams);
    atMost(node, "timers", timers, bounds.timers(view.length, streams));
    // A node that no fault holds hears of its time; one that stood still forgets later.
    if (node.faults === 0) atMost(node, "nodes in its view", view.length, this.#running.size + this.#endedMs.size);
    if (this.#checked.get(node) !== view) this.#checkNames(node, view);
  }

  #checkNames(node: SimNode, view: readonly MemberRecord[]): void {
    let listsItself = false;
    for (let i = 0; i < view.length; i++) {
      const { name } = view[i] as MemberRecord;
      listsItself ||= name === node.name;
      // The view is sorted by name.
      if (i > 0 && name <= (view[i - 1] as MemberRecord).name) throw new Error(`${node.name} lists a name twice`);
    }
    if (!listsItself) throw new Error(`${node.name} does not list itself`);
    this.#checked.set(node, view);
  }
}

function atMost(node: SimNode, what: string, count: number, limit: number): void {
  if (count > limit) throw new Error(`${node.name} has ${count} ${what}, more than ${limit}`);
}
