import { promiseHooks } from "node:v8";
import type { Clock } from "../../src/base/index.ts";
import { sleepOnTimer } from "./sleep-on-timer.ts";

export interface SimClockOptions {
  /**
   * When promises get to run between two timers. "always" (default): after each timer, with a turn of the event loop.
   * "promises": only after timers that touched a promise, which is much faster where most do not; code that waits for the platform in another way is not seen.
   */
  readonly settle?: "always" | "promises";
}

/** Something that is due at a time. */
export class SimTimer implements Disposable {
  readonly dueMs: number;
  readonly id: number;
  readonly #clock: SimClock;
  #fn: (() => void) | undefined;

  constructor(clock: SimClock, dueMs: number, id: number, fn: () => void) {
    this.#clock = clock;
    this.dueMs = dueMs;
    this.id = id;
    this.#fn = fn;
  }

  get active(): boolean {
    return this.#fn !== undefined;
  }

  fire(): void {
    const fn = this.#fn;
    this.#fn = undefined;
    fn?.();
  }

  [Symbol.dispose](): void {
    if (!this.#fn) return;
    this.#fn = undefined;
    this.#clock.noteDisposed();
  }
}

/** Disposed timers that may wait in the heap before it is worth cleaning. */
const minDisposed = 1024;

/** Virtual time. Nothing happens until {@link SimClock.advance}; equal runs fire equal timers in equal order. */
export class SimClock implements Clock {
  readonly #settlesAlways: boolean;
  #nowMs = 0;
  #nextId = 0;
  #disposed = 0;
  #heap: SimTimer[] = [];

  constructor(options: SimClockOptions = {}) {
    this.#settlesAlways = options.settle !== "promises";
  }

  now(): number {
    return 1_700_000_000_000 + this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  /** Timers that are set and neither fired nor disposed. */
  get pending(): number {
    return this.#heap.length - this.#disposed;
  }

  timer(ms: number, fn: () => void): SimTimer {
    const timer = new SimTimer(this, this.#nowMs + Math.max(ms, 0), this.#nextId++, fn);
    this.#push(timer);
    return timer;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return sleepOnTimer(this, ms, signal);
  }

  /** Lets `ms` pass: fires what is due, each timer at its time, and lets all promises settle in between. `afterStep` runs after each timer. */
  async advance(ms: number, afterStep: () => void = () => {}): Promise<void> {
    const endMs = this.#nowMs + ms;
    using activity = this.#settlesAlways ? undefined : new PromiseActivity();
    await settle();
    if (activity) activity.seen = false;
    for (let next = this.#heap[0]; next && next.dueMs <= endMs; next = this.#heap[0]) {
      this.#pop();
      if (!next.active) {
        this.#disposed--;
        continue;
      }
      if (next.dueMs > this.#nowMs) this.#nowMs = next.dueMs;
      next.fire();
      if (!activity) await settle();
      else if (activity.seen) {
        await settle();
        activity.seen = false;
      }
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

  /** A timer that is still in the heap will not fire. */
  noteDisposed(): void {
    this.#disposed++;
    if (this.#disposed < minDisposed || this.#disposed * 2 < this.#heap.length) return;
    // The order is total, so a heap that is built anew fires as the old one would have.
    const active = this.#heap.filter((timer) => timer.active).sort((a, b) => (isBefore(a, b) ? -1 : 1));
    this.#heap = active;
    this.#disposed = 0;
  }

  #push(timer: SimTimer): void {
    const heap = this.#heap;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(timer, heap[parent] as SimTimer)) break;
      heap[at] = heap[parent] as SimTimer;
      at = parent;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    const { length } = heap;
    if (!last || length === 0) return;
    let at = 0;
    for (let child = 1; child < length; child = 2 * at + 1) {
      const right = child + 1;
      if (right < length && isBefore(heap[right] as SimTimer, heap[child] as SimTimer)) child = right;
      if (!isBefore(heap[child] as SimTimer, last)) break;
      heap[at] = heap[child] as SimTimer;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: SimTimer, b: SimTimer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.id < b.id);
}

/** Sees whether any promise was made or settled: only then can there be reactions that wait to run. */
class PromiseActivity implements Disposable {
  seen = false;
  readonly #stop: () => void;

  constructor() {
    const note = () => {
      this.seen = true;
    };
    this.#stop = promiseHooks.createHook({ init: note, settled: note }) as unknown as () => void;
  }

  [Symbol.dispose](): void {
    this.#stop();
  }
}

/** All promise reactions run before an immediate does. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
