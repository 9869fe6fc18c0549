import { expect, test } from "vitest";
import { CodedError } from "../../../src/base/index.ts";
import { defaultMemoryStickingOptions, MemoryStickingStore, stickingKeys } from "../../../src/db/sticking.ts";
import { SimClock } from "../../support/sim-clock.ts";

test("a key sticks until its time is over, and each write starts it anew", async () => {
  const clock = new SimClock();
  const store = new MemoryStickingStore({ ...defaultMemoryStickingOptions, expirationMs: 1000 }, { clock });
  await store.stick(["user/1"]);
  await clock.advance(900);
  expect(await store.isStuck(["other/1", "user/1"])).toBe(true);
  await store.stick(["user/1"]);
  await clock.advance(999);
  expect(await store.isStuck(["user/1"])).toBe(true);
  await clock.advance(1);
  expect(await store.isStuck(["user/1"])).toBe(false);
  expect(await store.isStuck([])).toBe(false);
});

test("a hashed id is not kept in clear", () => {
  expect(stickingKeys([["user", 42], { namespace: "api_key", id: "token", hashId: true }])).toEqual([
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
