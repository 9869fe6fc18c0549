import { CodedError } from "../../base/index.ts";

/**
 * Why a read was refused.
 * - `rate`: fall-back reads have used up their share of the reads.
 * - `slots`: every connection that such reads may use is in use.
 * - `queue`: too many wait already.
 */
export type ShedReason = "rate" | "slots" | "queue";

/** A read that would have been one too many for the primary. Nothing was sent; come again after `retryAfterMs`. */
export class PrimaryShedError extends CodedError {
  readonly reason: ShedReason;

  constructor(reason: ShedReason, kind: "fallback" | "sticky", retryAfterMs: number) {
    super("database_unavailable", "the primary has no room for this read", { reason, kind }, { retryAfterMs });
    this.reason = reason;
  }
}
