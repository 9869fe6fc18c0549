import type { Clock } from "../base/index.ts";
import { formatAddress, type GossipAddress } from "./address.ts";

export interface StrangersOptions {
  /** Shortest time between two exchanges, whoever with. */
  readonly intervalMs: number;
  /** Shortest time between two exchanges with one address. */
  readonly sameAddressMs: number;
}

export interface StrangersDeps {
  readonly clock: Clock;
  /** Exchanges views with the node at `to`. Never rejects. */
  readonly synchronize: (to: GossipAddress) => Promise<void>;
}

const maxRemembered = 256;

/**
 * Nodes that probe this one although it does not know them: the gossip about them was missed, so views are exchanged
 * with them, one at a time and rarely, since anyone may say to be one.
 */
export class Strangers {
  readonly #options: StrangersOptions;
  readonly #deps: StrangersDeps;
  readonly #metAtMs = new Map<string, number>();
  #busy = false;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(options: StrangersOptions, deps: StrangersDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** An unknown node that advertises `address` was heard. */
  heard(address: GossipAddress): void {
    const nowMs = this.#deps.clock.monotonic();
    const key = formatAddress(address);
    const metAtMs = this.#metAtMs.get(key) ?? Number.NEGATIVE_INFINITY;
    if (this.#busy || nowMs - this.#lastMs < this.#options.intervalMs || nowMs - metAtMs < this.#options.sameAddressMs) return;
    this.#busy = true;
    this.#lastMs = nowMs;
    if (this.#metAtMs.size >= maxRemembered) this.#metAtMs.clear();
    this.#metAtMs.set(key, nowMs);
    void this.#deps.synchronize(address).finally(() => {
      this.#busy = false;
    });
  }
}
