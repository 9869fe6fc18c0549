import type { Clock, Random } from "../base/index.ts";
import type { BroadcastQueue } from "./broadcast-queue.ts";
import { GossipOrder } from "./gossip-order.ts";
import type { NodeRecord } from "./node-record.ts";

export interface GossipRoundsOptions {
  readonly name: string;
  readonly gossipIntervalMs: number;
  readonly gossipNodes: number;
  readonly gossipToTheDeadMs: number;
}

export interface GossipRoundsDeps {
  readonly clock: Clock;
  readonly queue: BroadcastQueue;
  readonly random: Random;
  /** The names of this node and of all that live, sorted. */
  readonly living: () => readonly string[];
  readonly node: (name: string) => NodeRecord | undefined;
  /** The nodes that have failed. */
  readonly failed: () => readonly NodeRecord[];
  /** How often each message is sent. */
  readonly transmissions: () => number;
  /** Sends what waits in the queue; where it is not `counted`, the messages are as often still to be sent as before. */
  readonly send: (to: NodeRecord, counted: boolean) => void;
}

/**
 * Sends what waits in the queue to some members in each round. The first round comes at once when there is news, the
 * next ones keep the interval, and there is none while nothing waits.
 */
export class GossipRounds implements Disposable {
  readonly #options: GossipRoundsOptions;
  readonly #deps: GossipRoundsDeps;
  readonly #order: GossipOrder;
  #lastMs = Number.NEGATIVE_INFINITY;
  #timer: Disposable | undefined;
  #stopped = false;

  constructor(options: GossipRoundsOptions, deps: GossipRoundsDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#order = new GossipOrder(options.name);
  }

  /** Something was queued. */
  wake(): void {
    if (this.#timer || this.#stopped || this.#deps.queue.size === 0) return;
    const dueMs = this.#lastMs + this.#options.gossipIntervalMs;
    this.#timer = this.#deps.clock.timer(Math.max(0, dueMs - this.#deps.clock.monotonic()), () => this.#round());
  }

  [Symbol.dispose](): void {
    this.#stopped = true;
    this.#timer?.[Symbol.dispose]();
  }

  #round(): void {
    this.#timer = undefined;
    const nowMs = this.#deps.clock.monotonic();
    this.#lastMs = nowMs;
    const { gossipNodes, gossipToTheDeadMs } = this.#options;
    const { failed, living, node, queue, random, send, transmissions } = this.#deps;
    const lost = failed().filter(({ changedAtMs }) => nowMs - changedAtMs <= gossipToTheDeadMs);
    const chosen = lost[lost.length > 1 ? random.int(lost.length) : 0];
    // The dead may be alive and refute, but what they are sent must not be missed by the living.
    if (chosen) send(chosen, false);
    for (const name of this.#order.next(living(), transmissions(), gossipNodes)) {
      const target = node(name);
      if (target && queue.size > 0) send(target, true);
    }
    this.wake();
  }
}
