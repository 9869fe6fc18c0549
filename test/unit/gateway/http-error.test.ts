import { describe, expect, test } from "vitest";
import { CodedError } from "../../../src/base/index.ts";
import { httpError } from "../../../src/gateway/http-error.ts";

describe("what a client is told", () => {
  test("a repository that is not there is 404, with the command that makes it as one shell word on one line", () => {
    const error = new CodedError("repository_not_found", "repository not found");
    expect(httpError(error, "group/a.git")).toEqual({
      status: 404,
      message: "repository not found; create it with: gitaly repo create group/a.git",
      headers: {},
    });
    expect(httpError(error, "it's\n\u001b[31m").message).toMatch(/gitaly repo create 'it'\\''s\?\?\[31m'$/);
    expect(httpError(error, "-x").message).toMatch(/create '-x'$/);
  });

  test.each([
    ["invalid_path", 400],
    ["invalid_argument", 400],
    ["store_refuses_writes", 403],
    ["deadline_exceeded", 504],
    ["internal", 500],
    ["git_failed", 500],
    ["corrupt", 500],
  ] as const)("%s is %i", (code, status) => {
    expect(httpError(new CodedError(code, "what is wrong"), "a")).toMatchObject({ status, headers: {} });
  });

  test("what passes by itself is 503 with the time to wait, in whole seconds", () => {
    expect(httpError(new CodedError("store_unavailable", "m"), "a")).toMatchObject({ status: 503, headers: { "Retry-After": "1" } });
    const busy = new CodedError("limit_exceeded", "m", {}, { retryAfterMs: 1500 });
    expect(httpError(busy, "a")).toMatchObject({ status: 503, headers: { "Retry-After": "2" } });
    expect(httpError(new CodedError("limit_exceeded", "m"), "a")).toMatchObject({ status: 413 });
  });

  test("nothing of an unexpected error is shown", () => {
    for (const error of [new Error("/var/secret"), new CodedError("internal", "in /var/secret"), "text", undefined]) {
      expect(httpError(error, "a")).toEqual({ status: 500, message: "internal error", headers: {} });
    }
  });
});
