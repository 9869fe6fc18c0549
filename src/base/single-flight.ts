import { abortable, sharedAbortController } from "./signals.ts";

interface Flight<T> {
  readonly promise: Promise<T>;
  readonly controller: AbortController;
  waiters: number;
}

/**
 * Joins concurrent calls for one key into one. The work sees its own signal, which aborts only when every
 * caller has gone; a failure reaches every caller that is still there.
 */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  async run(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    let flight = this.#flights.get(key);
    if (!flight) {
      const controller = sharedAbortController();
      const started: Flight<T> = { promise: work(controller.signal), controller, waiters: 0 };
      flight = started;
      this.#flights.set(key, started);
      const forget = () => {
        if (this.#flights.get(key) === started) this.#flights.delete(key);
      };
      started.promise.then(forget, forget);
    }
    flight.waiters++;
    try {
      return await abortable(flight.promise, signal);
    } finally {
      flight.waiters--;
      if (flight.waiters === 0 && signal.aborted) {
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
        flight.controller.abort(signal.reason);
      }
    }
  }
}
