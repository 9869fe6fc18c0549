/**
 * How much this process doubts itself: 0 = healthy. Missed answers, refuted accusations and stalls of its own event
 * loop raise it, answered probes lower it; all its probes slow down with it, so that a slow node accuses less.
 */
export class Awareness {
  readonly #maxScore: number;
  #score = 0;

  /** `maxMultiplier`: by how much probes slow down at most. */
  constructor(maxMultiplier: number) {
    this.#maxScore = maxMultiplier - 1;
  }

  get score(): number {
    return this.#score;
  }

  /** Adds `delta`, within the bounds. */
  add(delta: number): void {
    this.#score = Math.min(this.#maxScore, Math.max(0, this.#score + delta));
  }

  scale(ms: number): number {
    return ms * (this.#score + 1);
  }
}
