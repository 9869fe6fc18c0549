import type { Clock } from "../../base/index.ts";
import type { OverloadOptions } from "./overload-options.ts";
import { RateWindow } from "./rate-window.ts";

/** Keeps second tries from multiplying the load of a bad day: they are a share of the requests of the last ten seconds. */
export class RetryBudget {
  readonly #options: Pick<OverloadOptions, "retryShare" | "minRetries">;
  readonly #clock: Clock;
  readonly #requests = new RateWindow();
  readonly #retries = new RateWindow();

  constructor(options: Pick<OverloadOptions, "retryShare" | "minRetries">, deps: { clock: Clock }) {
    this.#options = options;
    this.#clock = deps.clock;
  }

  /** Notes a request, once, however often it is tried. */
  noteRequest(): void {
    this.#requests.add(this.#clock.monotonic());
  }

  /** Whether one more try may be made; it counts as made. */
  spend(): boolean {
    const nowMs = this.#clock.monotonic();
    const { retryShare, minRetries } = this.#options;
    if (this.#retries.count(nowMs) + 1 > minRetries + retryShare * this.#requests.count(nowMs)) return false;
    this.#retries.add(nowMs);
    return true;
  }
}
