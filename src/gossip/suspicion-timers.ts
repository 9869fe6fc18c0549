import type { Clock } from "../base/index.ts";

export interface SuspicionTimersOptions {
  /** A timer that fires later than this says that the process stood still. */
  readonly stallMs: number;
  /** What a suspect gets then in addition, so that a refutation which waits to be read can be. */
  readonly graceMs: number;
}

export interface SuspicionTimersDeps {
  readonly clock: Clock;
  readonly afterPoll: (fn: () => void) => void;
  readonly onExpired: (node: string, incarnation: number) => void;
}

/** The timers of all running suspicions, one for a node. */
export class SuspicionTimers implements Disposable {
  readonly #options: SuspicionTimersOptions;
  readonly #deps: SuspicionTimersDeps;
  readonly #timers = new Map<string, Disposable>();

  constructor(options: SuspicionTimersOptions, deps: SuspicionTimersDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Starts the timer of `node`, or sets it anew. */
  arm(node: string, incarnation: number, delayMs: number): void {
    this.#start(node, incarnation, delayMs, false);
  }

  disarm(node: string): void {
    this.#timers.get(node)?.[Symbol.dispose]();
    this.#timers.delete(node);
  }

  [Symbol.dispose](): void {
    for (const node of [...this.#timers.keys()]) this.disarm(node);
  }

  #start(node: string, incarnation: number, delayMs: number, extended: boolean): void {
    const { clock, afterPoll, onExpired } = this.#deps;
    this.disarm(node);
    const dueMs = clock.monotonic() + delayMs;
    const timer = clock.timer(delayMs, () => {
      const lateMs = clock.monotonic() - dueMs;
      afterPoll(() => {
        if (this.#timers.get(node) !== timer) return;
        if (lateMs > this.#options.stallMs && !extended) return this.#start(node, incarnation, this.#options.graceMs, true);
        this.#timers.delete(node);
        onExpired(node, incarnation);
      });
    });
    this.#timers.set(node, timer);
  }
}
