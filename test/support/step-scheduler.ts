import type { Clock, Random } from "../../src/base/index.ts";

/** Runs concurrent code one step at a time, in an order chosen by a seed: whoever awaits `turn()` waits for its step. */
export class StepScheduler {
  readonly #random: Random;
  readonly #waiting: (() => void)[] = [];
  readonly #timers = new Set<() => void>();
  #nowMs = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Waits to be chosen. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Sleeping is a step; timers fire only at a step of their own, which `run` makes rare. */
  readonly clock: Clock = {
    now: () => this.#nowMs,
    monotonic: () => this.#nowMs,
    sleep: async (_ms, signal) => {
      await this.turn();
      signal.throwIfAborted();
    },
    timer: (_ms, fn) => {
      this.#timers.add(fn);
      return { [Symbol.dispose]: () => void this.#timers.delete(fn) };
    },
  };

  /** Steps until nobody waits any more. Between steps all code runs as far as it can. */
  async run(options: { readonly timerChance: number; readonly maxSteps: number }): Promise<void> {
    for (let step = 0; ; step++) {
      await settle();
      if (this.#waiting.length === 0) return;
      if (step > options.maxSteps) throw new Error(`not quiet after ${options.maxSteps} steps`);
      this.#nowMs++;
      const timers = [...this.#timers];
      if (timers.length > 0 && this.#random.float() < options.timerChance) {
        const fire = timers[this.#random.int(timers.length)] as () => void;
        this.#timers.delete(fire);
        fire();
      } else {
        this.#waiting.splice(this.#random.int(this.#waiting.length), 1)[0]?.();
      }
    }
  }
}

/** Lets promises settle; one round of the event loop runs all microtasks. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
