import { AdaptiveShare } from "./adaptive-share.ts";
import type { OverloadOptions } from "./overload-options.ts";
import { RateWindow } from "./rate-window.ts";

/**
 * How many reads may fall back to the primary: a bucket of tokens that fills at a share of the rate of all reads. Time is an
 * argument: milliseconds of a monotonic clock.
 */
export class FallbackBudget {
  readonly #options: OverloadOptions;
  readonly #reads = new RateWindow();
  readonly #share = new AdaptiveShare();
  #tokens: number;
  #filledMs: number;

  constructor(options: OverloadOptions, nowMs: number) {
    this.#options = options;
    this.#tokens = options.fallbackBurst / this.#sharers;
    this.#filledMs = nowMs;
  }

  /** Notes that a read was asked for, wherever it will run. */
  noteRead(nowMs: number): void {
    this.#reads.add(nowMs);
  }

  /** Notes how the primary is: `strained` while it has no connection free, or fails. */
  notePrimary(strained: boolean, nowMs: number): void {
    if (this.#options.adaptive) this.#share.note(strained, nowMs);
  }

  /** What may fall back each second. */
  perSecond(nowMs: number): number {
    return this.#perSecond(nowMs, this.#sharers);
  }

  /** Takes one read's worth, where there is one. */
  take(nowMs: number): boolean {
    this.#fill(nowMs);
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  /** Time until there is enough for `reads` more. */
  waitMs(nowMs: number, reads = 1): number {
    const perSecond = this.#fill(nowMs);
    const missing = reads - this.#tokens;
    if (missing <= 0) return 0;
    return perSecond > 0 ? Math.ceil((missing * 1000) / perSecond) : Number.POSITIVE_INFINITY;
  }

  /** At least this process. */
  get #sharers(): number {
    return Math.max(1, Math.floor(this.#options.sharedBy()) || 1);
  }

  #perSecond(nowMs: number, sharers: number): number {
    const { fallbackShare, fallbackMinPerSecond, fallbackMaxPerSecond } = this.#options;
    const share = fallbackShare >= 1 ? Number.POSITIVE_INFINITY : fallbackShare * this.#reads.perSecond(nowMs);
    return Math.min(fallbackMaxPerSecond / sharers, Math.max(fallbackMinPerSecond / sharers, share)) * this.#share.factor;
  }

  /** Returns what may fall back each second now. */
  #fill(nowMs: number): number {
    const sharers = this.#sharers;
    const perSecond = this.#perSecond(nowMs, sharers);
    const capacity = Math.max(1, this.#options.fallbackBurst / sharers, perSecond);
    const passedMs = Math.max(0, nowMs - this.#filledMs);
    // Nothing times infinity is not a number.
    const gained = passedMs === 0 && Number.isFinite(perSecond) ? 0 : (perSecond * Math.max(1, passedMs)) / 1000;
    this.#tokens = Math.min(capacity, this.#tokens + gained);
    this.#filledMs = nowMs;
    return perSecond;
  }
}
