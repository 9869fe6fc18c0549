import { CodedError } from "./errors.ts";

/** At most `limit` holders; at most `maxQueue` callers wait, first come first served, the next is refused. */
export class Semaphore {
  readonly #limit: number;
  readonly #maxQueue: number;
  #held = 0;
  readonly #queue: (() => void)[] = [];

  constructor(limit: number, maxQueue = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
    this.#maxQueue = maxQueue;
  }

  /** Callers that hold a place now. */
  get held(): number {
    return this.#held;
  }

  /** Waits for a place. Errors: `limit_exceeded` when the queue is full, else the signal's reason. */
  async acquire(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#held >= this.#limit) {
      if (this.#queue.length >= this.#maxQueue) {
        throw new CodedError(
          "limit_exceeded",
          "too many callers wait",
          { limit: this.#limit, queued: this.#queue.length },
          { retryAfterMs: 1000 },
        );
      }
      await new Promise<void>((resolve, reject) => {
        const turn = () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        };
        const onAbort = () => {
          this.#queue.splice(this.#queue.indexOf(turn), 1);
          reject(signal.reason);
        };
        signal.addEventListener("abort", onAbort, { once: true });
        this.#queue.push(turn);
      });
    } else {
      this.#held++;
    }
    let released = false;
    return {
      [Symbol.dispose]: () => {
        if (released) return;
        released = true;
        // A place passes straight to the next in line, so that a newcomer cannot overtake it.
        const next = this.#queue.shift();
        if (next) next();
        else this.#held--;
      },
    };
  }
}
