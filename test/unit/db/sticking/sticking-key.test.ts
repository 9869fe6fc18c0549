import { expect, test } from "vitest";
import { CodedError } from "../../../../src/base/index.ts";
import { stickingKeys } from "../../../../src/db/sticking/sticking-key.ts";

// Case 17
test("a hashed id is not kept in clear, and a key that is named twice counts once", () => {
  expect(stickingKeys([["user", 42], { namespace: "api_key", id: "token", hashId: true }, ["user", "42"]])).toEqual([
    "user/42",
    "api_key/3c469e9d6c5875d37a43f353d4f88e61fcf812c66eee3457465a40b0da4153e0",
  ]);
});

test.each([[[["", 1]]], [[["a b", 1]]], [[["user", ""]]], [[["user", "x".repeat(2000)]]]] as [[string, string | number][]][])(
  "the key %j is refused",
  (keys) => {
    expect(() => stickingKeys(keys)).toThrow(CodedError);
  },
);

test("a thousand keys are the most", () => {
  const keys = (count: number) => Array.from({ length: count }, (_, i) => ["user", i] as const);
  expect(stickingKeys(keys(1000))).toHaveLength(1000);
  expect(() => stickingKeys(keys(1001))).toThrow(CodedError);
});
