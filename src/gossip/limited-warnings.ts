import type { Clock } from "../base/index.ts";
import type { LogFields, Logger } from "../observability/index.ts";

const intervalMs = 60_000;

/** Says what strangers can cause at any rate, each kind at most once a minute, with how often it was not said. */
export class LimitedWarnings {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #said = new Map<string, { atMs: number; unsaid: number }>();

  constructor(deps: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** `message` is constant, and the kind as well. */
  warn(message: string, fields: LogFields): void {
    const nowMs = this.#clock.monotonic();
    const before = this.#said.get(message);
    if (before && nowMs - before.atMs < intervalMs) {
      before.unsaid++;
      return;
    }
    this.#said.set(message, { atMs: nowMs, unsaid: 0 });
    this.#logger.warn(message, { ...fields, ...(before && before.unsaid > 0 ? { unsaid: before.unsaid } : {}) });
  }
}
