import type { Clock, Random } from "../base/index.ts";
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
  /** How many known nodes have failed. */
  readonly deadCount: () => number;
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
    // The dead may be alive and refute, but what they are sent must not be missed by the living.
    const { gossipNodes, gossipToTheDeadMs } = this.#options;
    if (this.#deps.deadCount() > 0)
      this.#send(1, false, ({ state, changedAtMs }) => state === "dead" && nowMs - changedAtMs <= gossipToTheDeadMs);
    this.#send(gossipNodes, true, ({ state }) => state === "alive" || state === "suspect");
    this.wake();
  }

  /** In turn, not at random: a message goes out only a few times, and each should reach another member. */
  #send(count: number, counted: boolean, isTarget: (node: NodeRecord) => boolean): void {
    const { node, queue, send } = this.#deps;
    const sent = new Set<string>();
    const turn = (name: string): Turn => {
      const known = node(name);
      if (!known) return "forget";
      return isTarget(known) && !sent.has(name) ? "take" : "pass";
    };
    while (sent.size < count && queue.size > 0) {
      const name = this.#order.next(turn);
      const target = name === undefined ? undefined : node(name);
      if (!target) return;
      sent.add(target.name);
      send(target, counted);
    }
  }
}
