import { expect, test } from "vitest";
import { connectErrorClass, errorClass, poisonsConnection } from "../../../../src/db/hosts/error-class.ts";

const error = (fields: { code?: string; message?: string; severity?: string; syscall?: string }) =>
  Object.assign(new Error(fields.message ?? ""), fields);

// Case 42
test.each([
  [{ code: "57P01", severity: "FATAL" }, "lost"],
  [{ code: "57P02", severity: "FATAL" }, "lost"],
  [{ code: "57P04", severity: "FATAL" }, "lost"],
  [{ code: "57P05", severity: "FATAL" }, "lost"],
  [{ code: "57P03", severity: "FATAL" }, "connect_failed"],
  [{ code: "53300", severity: "FATAL" }, "overload"],
  [{ code: "08000" }, "lost"],
  [{ code: "08003" }, "lost"],
  [{ code: "08006" }, "lost"],
  [{ code: "08P01", severity: "FATAL" }, "lost"],
  // What PgBouncer says to a statement that it has no server for.
  [{ code: "08P01", message: "server login has been failing, try again later (server_login_retry)", severity: "FATAL" }, "connect_failed"],
  [{ code: "08P01", message: "query_wait_timeout", severity: "FATAL" }, "connect_failed"],
  [{ code: "08P01", message: "bind message supplies 2 parameters", severity: "ERROR" }, "statement"],
  [{ code: "25P03", severity: "FATAL" }, "lost"],
  [{ code: "ECONNREFUSED", syscall: "connect" }, "connect_failed"],
  [{ code: "ETIMEDOUT", syscall: "connect" }, "connect_failed"],
  [{ code: "ETIMEDOUT", syscall: "read" }, "lost"],
  [{ code: "ECONNRESET", syscall: "read" }, "lost"],
  [{ code: "EPIPE", syscall: "write" }, "lost"],
  [{ code: "ENOTFOUND", syscall: "getaddrinfo" }, "connect_failed"],
  [{ code: "EAI_AGAIN", syscall: "getaddrinfo" }, "connect_failed"],
  [{ code: "EHOSTUNREACH", syscall: "connect" }, "connect_failed"],
  [{ code: "ENETUNREACH", syscall: "connect" }, "connect_failed"],
  [{ code: "EHOSTUNREACH", syscall: "read" }, "lost"],
  [{ message: "Connection terminated due to connection timeout" }, "connect_failed"],
  [{ message: "timeout expired" }, "connect_failed"],
  [{ message: "Connection terminated unexpectedly" }, "lost"],
  [{ message: "Client has encountered a connection error and is not queryable" }, "connect_failed"],
  [{ message: "Query read timeout" }, "slow"],
  [{ code: "57014", severity: "ERROR" }, "slow"],
  [{ code: "40001", severity: "ERROR" }, "conflict"],
  [{ code: "40001", severity: "FATAL" }, "lost"],
  [{ code: "40P01", severity: "ERROR" }, "conflict"],
  [{ code: "25006", severity: "ERROR" }, "misroute"],
  [{ code: "0A000", message: "cannot use serializable mode in a hot standby" }, "misroute"],
  [{ code: "0A000", message: "something else is not supported" }, "statement"],
  [{ code: "0A000", message: "cannot set transaction read-write mode during recovery" }, "misroute"],
  [{ code: "55000", message: "recovery is in progress" }, "misroute"],
  [{ code: "55000", message: 'currval of sequence "s" is not yet defined in this session' }, "statement"],
  [{ code: "28000", severity: "FATAL" }, "config"],
  [{ code: "28P01", severity: "FATAL" }, "config"],
  [{ code: "3D000", severity: "FATAL" }, "config"],
  // On a connection that stood.
  [{ code: "ERR_SSL_WRONG_VERSION_NUMBER" }, "lost"],
  [{ code: "EPROTO", syscall: "write" }, "lost"],
  [{ message: "The server does not support SSL connections" }, "config"],
  [{ code: "ENOENT", syscall: "connect" }, "connect_failed"],
  [{ code: "42601", severity: "ERROR" }, "statement"],
  [{ code: "23505", severity: "ERROR" }, "statement"],
])("%o is classed as %s", (fields, expected) => {
  expect(errorClass(error(fields))).toBe(expected);
});

test.each([
  [{ code: "DEPTH_ZERO_SELF_SIGNED_CERT" }, "config"],
  [{ code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" }, "config"],
  [{ code: "CERT_HAS_EXPIRED" }, "config"],
  [{ code: "ERR_TLS_CERT_ALTNAME_INVALID" }, "config"],
  [{ code: "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA" }, "config"],
  [{ code: "ENOENT", syscall: "open" }, "config"],
  [{ code: "EISDIR", syscall: "read" }, "config"],
  [{ code: "EMFILE", syscall: "open" }, "connect_failed"],
  [{ code: "ENOENT", syscall: "connect" }, "connect_failed"],
  [{ code: "ECONNRESET", syscall: "read" }, "connect_failed"],
  [{ message: "something else" }, "connect_failed"],
  [{ code: "53300", severity: "FATAL" }, "overload"],
  [{ code: "28P01", severity: "FATAL" }, "config"],
])("%o while a connection is opened is classed as %s", (fields, expected) => {
  expect(connectErrorClass(error(fields))).toBe(expected);
});

test("a name with several addresses that all refuse is a failed connect", () => {
  expect(errorClass(Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }))).toBe("connect_failed");
});

test("a statement's own fault leaves the connection usable, a client-side timeout does not", () => {
  expect(poisonsConnection(error({ code: "42601", severity: "ERROR" }))).toBe(false);
  expect(poisonsConnection(error({ code: "57014", severity: "ERROR" }))).toBe(false);
  expect(poisonsConnection(error({ code: "40001", severity: "ERROR" }))).toBe(false);
  expect(poisonsConnection(error({ message: "Query read timeout" }))).toBe(true);
  expect(poisonsConnection(error({ code: "57P01", severity: "FATAL" }))).toBe(true);
});
