const stepMs = 1000;
const least = 0.1;
const growth = 0.1;

/** A share that is halved in each second that shows strain, and grows back by a tenth in each that shows none. */
export class AdaptiveShare {
  #factor = 1;
  #strained = false;
  #stepMs: number | undefined;

  /** Above 0, at most 1. */
  get factor(): number {
    return this.#factor;
  }

  /** Notes one observation, by the monotonic clock. */
  note(strained: boolean, nowMs: number): void {
    this.#stepMs ??= nowMs;
    const steps = Math.floor((nowMs - this.#stepMs) / stepMs);
    if (steps > 0) {
      const grown = (this.#strained ? steps - 1 : steps) * growth;
      this.#factor = Math.min(1, Math.max(least, this.#strained ? this.#factor / 2 : this.#factor) + grown);
      this.#strained = false;
      this.#stepMs += steps * stepMs;
    }
    this.#strained ||= strained;
  }
}
