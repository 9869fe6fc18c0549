import { CodedError, errnoOf } from "../base/index.ts";

/** Whether `error` says, itself or by its causes, that the cache's disk took no more. */
export function isDiskFull(error: unknown): boolean {
  // The storage names the errno of what it cannot write; the platform's own error may lie below.
  if (CodedError.is(error) && (error.fields["errno"] === "ENOSPC" || error.fields["errno"] === "EDQUOT")) return true;
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (errnoOf(cause) === "ENOSPC" || errnoOf(cause) === "EDQUOT") return true;
  return false;
}

/** What the caller is told then. */
export function diskFull(fields: { readonly neededBytes?: number }, cause?: unknown): CodedError {
  return new CodedError("limit_exceeded", "no disk space left for the cache", fields, { cause, retryAfterMs: 10_000 });
}
