import { abortable } from "./signals.ts";

/** One holder at a time, first come first served. */
export class Mutex {
  #tail: Promise<void> = Promise.resolve();

  /** Runs `fn` alone. Rejects with the signal's reason if that aborts before the turn comes. */
  async run<T>(fn: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const before = this.#tail;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#tail = before.then(() => held);
    try {
      await abortable(before, signal);
      return await fn();
    } finally {
      release();
    }
  }
}
