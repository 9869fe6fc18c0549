const capacity = 256;
const maxAgeMs = 30_000;
// A server that answers hardly anything gives few durations: each is as long as a statement may take.
const minTimeouts = 5;

/** The newest durations of a server's statements, also of those whose time was over before they were answered. */
export class LatencyWindow {
  readonly #durations = new Float64Array(capacity);
  readonly #ends = new Float64Array(capacity);
  readonly #timedOut = new Uint8Array(capacity);
  #next = 0;
  #count = 0;

  add(durationMs: number, nowMs: number, { timedOut = false } = {}): void {
    this.#timedOut[this.#next] = timedOut ? 1 : 0;
    this.#durations[this.#next] = durationMs;
    this.#ends[this.#next] = nowMs;
    this.#next = (this.#next + 1) % capacity;
    if (this.#count < capacity) this.#count++;
  }

  /** Whether a statement ended after `sinceMs` that took at most `withinMs`. */
  answeredSince(sinceMs: number, withinMs: number): boolean {
    for (let i = 0; i < this.#count; i++) {
      if ((this.#ends[i] as number) > sinceMs && (this.#durations[i] as number) <= withinMs && !this.#timedOut[i]) return true;
    }
    return false;
  }

  clear(): void {
    this.#next = 0;
    this.#count = 0;
  }

  /** The 99th percentile of those of the last 30 seconds; undefined where there are fewer than `atLeast`, unless most were not answered in time. */
  p99(nowMs: number, atLeast: number): number | undefined {
    const recent: number[] = [];
    let timeouts = 0;
    for (let i = 0; i < this.#count; i++) {
      if ((this.#ends[i] as number) < nowMs - maxAgeMs) continue;
      recent.push(this.#durations[i] as number);
      timeouts += this.#timedOut[i] as number;
    }
    const stalled = timeouts >= minTimeouts && timeouts * 2 > recent.length;
    if (!stalled && recent.length < Math.max(1, atLeast)) return undefined;
    recent.sort((a, b) => a - b);
    return recent[Math.ceil(recent.length * 0.99) - 1];
  }
}
