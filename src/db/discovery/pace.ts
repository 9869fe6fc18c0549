import type { Random } from "../../base/index.ts";

/** How often a source is asked. */
export interface PaceOptions {
  /** Wait after a good answer, or longer where the answer's TTL is, plus a random part of at most a sixth or 10 s. Default 60000 ms. */
  readonly intervalMs: number;
  /** Random wait after a failure: at most this, doubled each time. Default 500 ms. */
  readonly retryMs: number;
  /** Upper bound of that. Default 60000 ms. */
  readonly maxRetryMs: number;
}

export const defaultPaceOptions: PaceOptions = { intervalMs: 60_000, retryMs: 500, maxRetryMs: 60_000 };

/** Lookups never start closer together, whoever asks for them. */
export const minGapMs = 1000;

const maxJitterMs = 10_000;
// A TTL of years would be the end of discovery.
const maxTtlMs = 24 * 3_600_000;

/** The wait after a good answer that holds for `ttlMs`. */
export function waitAfterAnswerMs(ttlMs: number, { intervalMs }: PaceOptions, random: Random): number {
  const jitterMs = Math.min(maxJitterMs, intervalMs / 6);
  return Math.max(intervalMs, Math.min(ttlMs, maxTtlMs)) + random.float() * jitterMs;
}

/** The wait after the `failures`th failure in a row. */
export function waitAfterFailureMs(
  failures: number,
  { retryMs, maxRetryMs }: Pick<PaceOptions, "retryMs" | "maxRetryMs">,
  random: Random,
): number {
  return random.float() * Math.min(maxRetryMs, retryMs * 2 ** Math.min(failures - 1, 30));
}
