import { abortable, sharedAbortController } from "../base/index.ts";

interface Batch<T> {
  readonly promise: Promise<T>;
  readonly controller: AbortController;
  waiters: number;
  started: boolean;
}

interface Lane<T> {
  readonly running: Batch<T>;
  next: Batch<T> | undefined;
}

/**
 * Joins calls for one key, but only into work that has not started: whoever calls while work runs gets the run after it, which all such
 * callers share. So every answer rests on work that began after the call. Work is aborted when all its callers have gone.
 */
export class Coalescer<T> {
  readonly #lanes = new Map<string, Lane<T>>();

  run(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const lane = this.#lanes.get(key);
    if (!lane) return this.#wait(this.#start(key, work), signal);
    lane.next ??= this.#queue(key, lane.running, work);
    return this.#wait(lane.next, signal);
  }

  #start(key: string, work: (signal: AbortSignal) => Promise<T>): Batch<T> {
    const controller = sharedAbortController();
    const batch: Batch<T> = { promise: work(controller.signal), controller, waiters: 0, started: true };
    this.#lanes.set(key, { running: batch, next: undefined });
    this.#forgetAfter(key, batch);
    return batch;
  }

  #queue(key: string, running: Batch<T>, work: (signal: AbortSignal) => Promise<T>): Batch<T> {
    const controller = sharedAbortController();
    const begin = async () => {
      batch.started = true;
      this.#lanes.set(key, { running: batch, next: undefined });
      if (batch.waiters === 0) controller.abort();
      controller.signal.throwIfAborted();
      return await work(controller.signal);
    };
    const batch: Batch<T> = { promise: running.promise.then(begin, begin), controller, waiters: 0, started: false };
    this.#forgetAfter(key, batch);
    return batch;
  }

  #forgetAfter(key: string, batch: Batch<T>): void {
    const forget = () => {
      const lane = this.#lanes.get(key);
      if (lane?.running === batch && lane.next === undefined) this.#lanes.delete(key);
    };
    batch.promise.then(forget, forget);
  }

  async #wait(batch: Batch<T>, signal: AbortSignal): Promise<T> {
    batch.waiters++;
    try {
      return await abortable(batch.promise, signal);
    } finally {
      batch.waiters--;
      // Work that waits for its turn may still find other callers.
      if (batch.waiters === 0 && batch.started && signal.aborted) batch.controller.abort(signal.reason);
    }
  }
}
