import { type Code, CodedError } from "../base/index.ts";

/** What a client is told when its request fails before the first byte of the answer. */
export interface HttpError {
  readonly status: number;
  /** One line of plain text: git shows it after "remote:". */
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

const statusOf: Partial<Record<Code, number>> = {
  invalid_argument: 400,
  invalid_path: 400,
  protocol_error: 400,
  unauthenticated: 401,
  permission_denied: 403,
  failed_precondition: 403,
  store_refuses_writes: 403,
  repository_not_found: 404,
  not_found: 404,
  conflict: 409,
  deadline_exceeded: 504,
  store_unavailable: 503,
  database_unavailable: 503,
  node_unavailable: 503,
};

/** The answer for `error`; whatever is not meant for clients becomes "internal error". `path` is the repository's. */
export function httpError(error: unknown, path: string): HttpError {
  if (!CodedError.is(error)) return { status: 500, message: "internal error", headers: {} };
  if (error.code === "repository_not_found") return { status: 404, message: notFound(path), headers: {} };
  if (error.code === "limit_exceeded") {
    // A limit that time does not lift is one on what the client sent.
    return error.retryAfterMs === undefined
      ? { status: 413, message: error.message, headers: {} }
      : { status: 503, message: error.message, headers: retryAfter(error.retryAfterMs) };
  }
  const status = statusOf[error.code];
  if (status === undefined) return { status: 500, message: "internal error", headers: {} };
  return { status, message: error.message, headers: status === 503 ? retryAfter(error.retryAfterMs ?? 1000) : {} };
}

function retryAfter(ms: number): Record<string, string> {
  return { "Retry-After": String(Math.max(1, Math.ceil(ms / 1000))) };
}

function notFound(path: string): string {
  return `repository not found; create it with: gitaly repo create ${shellWord(path)}`;
}

/** As one word of a shell, on one line: the text ends up in someone's terminal. */
function shellWord(text: string): string {
  const printable = text.replace(/\p{C}/gu, "?");
  return /^[\w.,:@%+/][\w.,:@%+/-]*$/.test(printable) ? printable : `'${printable.replaceAll("'", `'\\''`)}'`;
}
