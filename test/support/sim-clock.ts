import type { Clock } from "../../src/base/index.ts";

interface Timer {
  readonly dueMs: number;
  readonly id: number;
  fn: (() => void) | undefined;
}

/** Virtual time. Nothing happens until {@link SimClock.advance}; equal runs fire equal timers in equal order. */
export class SimClock implements Clock {
  #nowMs = 0;
  #nextId = 0;
  readonly #heap: Timer[] = [];

  now(): number {
    return 1_700_000_000_000 + this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  /** Timers that are set and neither fired nor disposed. */
  get pending(): number {
    return this.#heap.filter(({ fn }) => fn).length;
  }

  timer(ms: number, fn: () => void): Disposable {
    const timer: Timer = { dueMs: this.#nowMs + Math.max(0, ms), id: this.#nextId++, fn };
    this.#push(timer);
    return {
      [Symbol.dispose]: () => {
        timer.fn = undefined;
      },
    };
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = () => {
        timer[Symbol.dispose]();
        reject(signal.reason);
      };
      const timer = this.timer(ms, () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      });
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Lets `ms` pass: fires what is due, each timer at its time, and lets all promises settle in between. `afterStep` runs after each timer. */
  async advance(ms: number, afterStep: () => void = () => {}): Promise<void> {
    const endMs = this.#nowMs + ms;
    await settle();
    for (let next = this.#heap[0]; next && next.dueMs <= endMs; next = this.#heap[0]) {
      this.#pop();
      if (!next.fn) continue;
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.fn();
      await settle();
      afterStep();
    }
    this.#nowMs = endMs;
  }

  /** Lets time pass until `promise` settles, at most `limitMs`. */
  async until<T>(promise: Promise<T>, limitMs = 600_000): Promise<T> {
    let settled = false;
    const done = () => {
      settled = true;
    };
    promise.then(done, done);
    const endMs = this.#nowMs + limitMs;
    await settle();
    while (!settled) {
      const next = this.#heap[0];
      if (!next || next.dueMs > endMs) throw new Error(`still waiting after ${limitMs} virtual milliseconds`);
      await this.advance(next.dueMs - this.#nowMs);
    }
    return promise;
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(timer, heap[parent] as Timer)) break;
      heap[at] = heap[parent] as Timer;
      at = parent;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= heap.length) break;
      const right = left + 1;
      const child = right < heap.length && isBefore(heap[right] as Timer, heap[left] as Timer) ? right : left;
      if (!isBefore(heap[child] as Timer, last)) break;
      heap[at] = heap[child] as Timer;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.id < b.id);
}

/** All promise reactions run before an immediate does. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
