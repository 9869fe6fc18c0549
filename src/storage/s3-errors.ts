import { CodedError, errnoOf } from "../base/index.ts";

/** What the SDK's errors tell; their messages are left out, since some echo keys and signatures. */
interface S3Failure {
  readonly status: number | undefined;
  readonly name: string;
}

function failureOf(error: unknown): S3Failure {
  const { name, $metadata } = error as { name?: unknown; $metadata?: { httpStatusCode?: unknown } };
  const status = $metadata?.httpStatusCode;
  return {
    status: typeof status === "number" ? status : undefined,
    name: errnoOf(error) ?? (typeof name === "string" && /^[A-Za-z0-9_.]{1,64}$/.test(name) ? name : "Error"),
  };
}

/** True only for the store's own word that the key does not exist: any other 404 may come from a proxy or mean a missing bucket. */
export function isNoSuchKey(error: unknown): boolean {
  const { status, name } = failureOf(error);
  return status === 404 && name === "NoSuchKey";
}

/** For people: `412 PreconditionFailed`, `ECONNRESET`. */
export function describeS3Error(error: unknown): string {
  const { status, name } = failureOf(error);
  return status === undefined ? name : `${status} ${name}`;
}

/** True where an object stood in the way of a create-only write; some stores say 304 where S3 says 412. */
export function isOccupied(error: unknown): boolean {
  const { status } = failureOf(error);
  return status === 412 || status === 304;
}

/** True where the store understood the request and will not do it. */
export function isRefusal(error: unknown): boolean {
  const { status, name } = failureOf(error);
  // S3 says 400 where a body came too slowly.
  if (status === undefined || name === "RequestTimeout") return false;
  return status === 501 || (status >= 400 && status < 500 && ![404, 408, 409, 412, 425, 429].includes(status));
}

/** An error of the SDK as one of ours, without anything secret. */
export function translateS3Error(error: unknown, op: string, key: string): CodedError {
  if (CodedError.is(error)) return error;
  const answer = describeS3Error(error);
  const fields = { op, key, answer, transient: !isRefusal(error) };
  const hint = answer === "501 NotImplemented" ? "the object store does not implement this request" : "the object store cannot answer";
  return new CodedError("store_unavailable", hint, fields, { retryAfterMs: 1000 });
}
