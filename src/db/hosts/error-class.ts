import { CodedError, errnoOf } from "../../base/index.ts";

/**
 * What an error of the driver or the server means for routing.
 * - `connect_failed`: nothing was sent; anything may be tried elsewhere.
 * - `overload`: the server or our pool has no connection free; the host is not dead.
 * - `lost`: the connection went away; what was sent may have been applied.
 * - `conflict`: a standby cancelled the query to keep up with its primary.
 * - `misroute`: the server may not do this in its role.
 * - `slow`: a time limit passed.
 * - `config`: credentials, names or certificates are wrong; trying again cannot help.
 * - `statement`: the statement's own fault; the connection is fine.
 */
export type ErrorClass = "connect_failed" | "overload" | "lost" | "conflict" | "misroute" | "slow" | "config" | "statement";

const byState: Readonly<Record<string, ErrorClass>> = {
  "57P03": "connect_failed",
  "53300": "overload",
  "57P01": "lost",
  "57P02": "lost",
  "57P04": "lost",
  "57P05": "lost",
  "25P03": "lost",
  "25P04": "lost",
  "40001": "conflict",
  "40P01": "conflict",
  "25006": "misroute",
  "57014": "slow",
  "28000": "config",
  "28P01": "config",
  "3D000": "config",
};

const byErrno: Readonly<Record<string, ErrorClass>> = {
  ECONNREFUSED: "connect_failed",
  ENOTFOUND: "connect_failed",
  EAI_AGAIN: "connect_failed",
  EHOSTUNREACH: "connect_failed",
  ENETUNREACH: "connect_failed",
  ENOENT: "connect_failed",
  ETIMEDOUT: "connect_failed",
  ECONNRESET: "lost",
  EPIPE: "lost",
  ERR_STREAM_DESTROYED: "lost",
};

// Ours, in the words of the driver where it has any.
export const poolTimeoutMessage = "timeout exceeded when trying to connect";
export const poolEndedMessage = "Cannot use a pool after calling end on the pool";
export const readTimeoutMessage = "Query read timeout";

// These have no code.
const byMessage: Readonly<Record<string, ErrorClass>> = {
  "timeout expired": "connect_failed",
  "Connection terminated due to connection timeout": "connect_failed",
  [poolTimeoutMessage]: "connect_failed",
  // The server left the list, or changed its role, while a caller was on the way to it.
  [poolEndedMessage]: "connect_failed",
  "Connection terminated unexpectedly": "lost",
  "Connection terminated": "lost",
  // Said before anything is sent.
  "Client has encountered a connection error and is not queryable": "connect_failed",
  "Client was closed and is not queryable": "connect_failed",
  [readTimeoutMessage]: "slow",
  "The server does not support SSL connections": "config",
  "There was an error establishing an SSL connection": "config",
};

// Node's and OpenSSL's names for what is wrong with a certificate or between the two sides' TLS.
const tlsCode =
  /^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERROR_IN_CERT|INVALID_(CA|PURPOSE)$|HOSTNAME_MISMATCH$|EPROTO$)/;

// PgBouncer says so to a client that it has accepted, when it finds no server for it: nothing was passed on.
const poolerHasNoServer = /^(server login has been failing|query_wait_timeout|client_login_timeout)/;

/** No connection could be had: nothing was sent, so anything may be tried again or elsewhere. */
export class NotConnectedError extends CodedError {
  readonly reason: ErrorClass;

  constructor(host: string, reason: ErrorClass, cause: unknown) {
    const message = reason === "overload" ? "every connection to the database server is in use" : "cannot connect to the database server";
    super("database_unavailable", message, { host, reason }, { cause, retryAfterMs: 1000 });
    this.reason = reason;
  }
}

/** Classes an error by its code and severity, by message only where the driver gives nothing else. */
export function errorClass(error: unknown): ErrorClass {
  if (error instanceof NotConnectedError) return error.reason;
  if (!(error instanceof Error) || CodedError.is(error)) return "statement";
  const code = errnoOf(error);
  if (code === undefined) return byMessage[error.message] ?? "statement";
  const { severity, message, syscall } = error as Error & { severity?: string; syscall?: string };
  // The network's errnos also end connections that stood.
  if (byErrno[code] && (syscall === "read" || syscall === "write")) return "lost";
  if (tlsCode.test(code)) return "lost";
  // A FATAL ends the connection, whatever its reason.
  if (code === "40001" && severity === "FATAL") return "lost";
  if (code === "0A000" && /hot standby|during recovery/.test(message)) return "misroute";
  if (code === "55000" && message.includes("recovery is in progress")) return "misroute";
  if (code === "08P01" && poolerHasNoServer.test(message)) return "connect_failed";
  // A value too many, for one.
  if (code === "08P01" && severity === "ERROR") return "statement";
  const found = byState[code] ?? byErrno[code];
  if (found) return found;
  return /^08/.test(code) ? "lost" : "statement";
}

// Of a file that a URL names, such as a certificate: it is not there, or not to be read.
const fileErrnos: ReadonlySet<string> = new Set(["ENOENT", "EACCES", "EPERM", "ENOTDIR", "EISDIR", "ELOOP", "ENAMETOOLONG"]);

/** What an error means that came while a connection was opened: nothing was sent, so no statement can be at fault. */
export function connectErrorClass(error: unknown): ErrorClass {
  const code = errnoOf(error);
  const { syscall } = error as { syscall?: string };
  if (code !== undefined && (tlsCode.test(code) || (fileErrnos.has(code) && (syscall === "open" || syscall === "read")))) return "config";
  const kind = errorClass(error);
  // Refused by ourselves, as the wrong server, or lost on the way, or silent.
  return kind === "lost" || kind === "slow" || kind === "statement" ? "connect_failed" : kind;
}

/** Whether a transaction failed only because of another one, so that it may succeed as a whole when it is run again. */
export function isSerializationFailure(error: unknown): boolean {
  return errorClass(error) === "conflict";
}

/** Whether the client gave up on a server that said nothing. */
export function isClientTimeout(error: unknown): boolean {
  return errorClass(error) === "slow" && errnoOf(error as Error) === undefined;
}

/** Whether the connection that gave this error may serve nobody else. */
export function poisonsConnection(error: unknown): boolean {
  const kind = errorClass(error);
  if (kind === "slow") return isClientTimeout(error);
  return (
    kind === "connect_failed" ||
    kind === "lost" ||
    kind === "overload" ||
    (error as { severity?: string } | undefined)?.severity === "FATAL"
  );
}
