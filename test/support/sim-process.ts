import type { Clock, Random } from "../../src/base/index.ts";
import { sleepOnTimer } from "./sleep-on-timer.ts";

/** What is wrong with the time of a process. Equal to {@link soundTime}: nothing. */
export interface TimeFaults {
  /** Added to the wall clock. */
  readonly wallOffsetMs: number;
  /** Milliseconds of the monotonic clock in one true millisecond. */
  readonly rate: number;
  /** Each timer fires up to this much too late. */
  readonly maxLateMs: number;
}

/** Time as it is. */
export const soundTime: TimeFaults = { wallOffsetMs: 0, rate: 1, maxLateMs: 0 };

/**
 * Time as one process sees it. A paused process runs nothing; when it goes on, timers that are due come first and what
 * arrived comes after them, as in an event loop.
 */
export class SimProcess implements Clock {
  readonly #clock: Clock;
  readonly #random: Random;
  #faults = soundTime;
  /** The monotonic clock read `#baseMs` when the true one read `#baseTrueMs`. */
  #baseMs = 0;
  #baseTrueMs = 0;
  #waiting: { fn: () => void; isTimer: boolean }[] | undefined;
  #timers = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  get paused(): boolean {
    return this.#waiting !== undefined;
  }

  /** Timers and sleeps that have neither ended nor been disposed. */
  get timers(): number {
    return this.#timers;
  }

  now(): number {
    return this.#clock.now() + this.#faults.wallOffsetMs;
  }

  monotonic(): number {
    return this.#baseMs + (this.#clock.monotonic() - this.#baseTrueMs) * this.#faults.rate;
  }

  timer(ms: number, fn: () => void): Disposable {
    this.#timers++;
    const timer = new ProcessTimer(this, fn);
    timer.start(this.#clock, this.#trueMs(ms));
    return timer;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return sleepOnTimer(this, ms, signal);
  }

  /** Changes what is wrong with the time; timers that run keep their end. */
  setFaults(faults: Partial<TimeFaults>): void {
    this.#baseMs = this.monotonic();
    this.#baseTrueMs = this.#clock.monotonic();
    this.#faults = { ...this.#faults, ...faults };
  }

  pause(): void {
    this.#waiting ??= [];
  }

  /** Goes on; without what arrived meanwhile if `withInput` is false. */
  resume(withInput = true): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const { fn, isTimer } of waiting) if (isTimer) fn();
    if (withInput) for (const { fn, isTimer } of waiting) if (!isTimer) fn();
  }

  /** Calls `fn` when the process runs, at once if it is not paused. */
  whenRunning(fn: () => void, isTimer = false): void {
    if (this.#waiting) this.#waiting.push({ fn, isTimer });
    else fn();
  }

  /** A timer has fired or was disposed. */
  ended(): void {
    this.#timers--;
  }

  #trueMs(ms: number): number {
    const { rate, maxLateMs } = this.#faults;
    return Math.max(ms, 0) / rate + (maxLateMs > 0 ? this.#random.float() * maxLateMs : 0);
  }
}

class ProcessTimer implements Disposable {
  readonly #process: SimProcess;
  #fn: (() => void) | undefined;
  #timer: Disposable | undefined;

  constructor(process: SimProcess, fn: () => void) {
    this.#process = process;
    this.#fn = fn;
  }

  start(clock: Clock, ms: number): void {
    this.#timer = clock.timer(ms, () => {
      if (this.#process.paused) this.#process.whenRunning(() => this.#fire(), true);
      else this.#fire();
    });
  }

  #fire(): void {
    const fn = this.#fn;
    if (!fn) return;
    this.#fn = undefined;
    this.#process.ended();
    fn();
  }

  [Symbol.dispose](): void {
    if (!this.#fn) return;
    this.#fn = undefined;
    this.#process.ended();
    this.#timer?.[Symbol.dispose]();
  }
}
