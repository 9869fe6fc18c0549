import type { Clock, Random } from "../base/index.ts";
import type { GossipAddress } from "./address.ts";
import type { BroadcastQueue } from "./broadcast-queue.ts";
import type { NodeRecord } from "./node-record.ts";
import { RoundRobin, type Turn } from "./round-robin.ts";

export interface GossipRoundsOptions {
  readonly gossipIntervalMs: number;
  readonly gossipNodes: number;
  readonly gossipToTheDeadMs: number;
}

export interface GossipRoundsDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly queue: BroadcastQueue;
  readonly node: (name: string) => NodeRecord | undefined;
  /** Sends what waits in the queue. */
  readonly send: (to: GossipAddress, versions: Uint8Array) => void;
}

/**
 * Sends what waits in the queue to some members in each round. The first round comes at once when there is news, the
 * next ones keep the interval, and there is none while nothing waits.
 */
export class GossipRounds implements Disposable {
  readonly #options: GossipRoundsOptions;
  readonly #deps: GossipRoundsDeps;
  readonly #order: RoundRobin;
  #lastMs = Number.NEGATIVE_INFINITY;
  #timer: Disposable | undefined;
  #stopped = false;

  constructor(options: GossipRoundsOptions, deps: GossipRoundsDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#order = new RoundRobin(deps.random);
  }

  /** Another node became known. */
  add(name: string): void {
    this.#order.add(name);
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
    const sent = new Set<string>();
    const turn = (name: string): Turn => {
      const node = this.#deps.node(name);
      if (!node) return "forget";
      return this.#isTarget(node, nowMs) && !sent.has(name) ? "take" : "pass";
    };
    // In turn, not at random: a message goes out only a few times, and each should reach another member.
    while (sent.size < this.#options.gossipNodes && this.#deps.queue.size > 0) {
      const name = this.#order.next(turn);
      const target = name === undefined ? undefined : this.#deps.node(name);
      if (!target) break;
      sent.add(target.name);
      this.#deps.send(target, target.versions);
    }
    this.wake();
  }

  #isTarget({ state, changedAtMs }: NodeRecord, nowMs: number): boolean {
    return state === "alive" || state === "suspect" || (state === "dead" && nowMs - changedAtMs <= this.#options.gossipToTheDeadMs);
  }
}
