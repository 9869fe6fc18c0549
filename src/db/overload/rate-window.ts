const bucketMs = 1000;
const bucketCount = 10;

/** Counts events of the last ten seconds. Time is an argument: milliseconds of a monotonic clock. */
export class RateWindow {
  readonly #counts = new Float64Array(bucketCount);
  #total = 0;
  #firstMs: number | undefined;
  #bucket = 0;

  add(nowMs: number): void {
    this.#move(nowMs);
    this.#firstMs ??= nowMs;
    const at = this.#bucket % bucketCount;
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.#total++;
  }

  /** Events within the window. */
  count(nowMs: number): number {
    this.#move(nowMs);
    return this.#total;
  }

  /** Over the time that was watched: at least one second, at most the window. */
  perSecond(nowMs: number): number {
    const watchedMs = nowMs - (this.#firstMs ?? nowMs);
    const windowMs = bucketMs * (bucketCount - 1) + (nowMs % bucketMs);
    return (this.count(nowMs) * 1000) / Math.min(windowMs, Math.max(bucketMs, watchedMs));
  }

  #move(nowMs: number): void {
    const bucket = Math.floor(nowMs / bucketMs);
    if (bucket <= this.#bucket) return;
    const steps = Math.min(bucketCount, bucket - this.#bucket);
    for (let i = 1; i <= steps; i++) {
      const at = (bucket - steps + i) % bucketCount;
      this.#total -= this.#counts[at] as number;
      this.#counts[at] = 0;
    }
    this.#bucket = bucket;
  }
}
