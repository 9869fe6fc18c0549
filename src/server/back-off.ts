import type { Clock, Random } from "../base/index.ts";

/** Waits between tries that go on for ever: doubling, with full jitter in the upper half. */
export class BackOff {
  #nextMs: number;
  readonly #firstMs: number;
  readonly #maxMs: number;
  readonly #deps: { readonly clock: Clock; readonly random: Random };

  constructor(options: { firstMs: number; maxMs: number }, deps: { readonly clock: Clock; readonly random: Random }) {
    this.#firstMs = options.firstMs;
    this.#maxMs = options.maxMs;
    this.#nextMs = options.firstMs;
    this.#deps = deps;
  }

  reset(): void {
    this.#nextMs = this.#firstMs;
  }

  async wait(signal: AbortSignal): Promise<void> {
    const ms = this.#nextMs;
    this.#nextMs = Math.min(ms * 2, this.#maxMs);
    await this.#deps.clock.sleep(ms / 2 + this.#deps.random.float() * (ms / 2), signal);
  }
}
