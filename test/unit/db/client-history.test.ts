import { expect, test } from "vitest";
import { brokenPromises, longestGapMs, type ReadEvent, type WriteEvent } from "../../support/client-history.ts";

// The judge of the failover tests must itself be able to say no.
const write = (value: number, more: Partial<WriteEvent> = {}): WriteEvent => ({
  session: 1,
  key: "a",
  value,
  startMs: value * 10,
  endMs: value * 10 + 5,
  publishedMs: value * 10 + 6,
  outcome: "acknowledged",
  ...more,
});
const read = (value: number | undefined, startMs: number, more: Partial<ReadEvent> = {}): ReadEvent => ({
  session: 2,
  sessionMs: startMs,
  sticky: true,
  key: "a",
  startMs,
  endMs: startMs + 5,
  value,
  ...more,
});
const judge = (writes: readonly WriteEvent[], reads: readonly ReadEvent[], found: readonly number[]) =>
  brokenPromises({ writes, reads }, new Set(found));

test("a history in which each read sees what its caller was told is done is well", () => {
  const writes = [write(1), write(2, { outcome: "unknown" }), write(3, { outcome: "refused" }), write(4)];
  expect(judge(writes, [read(0, 1), read(1, 17), read(2, 27), read(undefined, 30), read(4, 50)], [1, 4])).toEqual([]);
  expect(judge(writes, [], [1, 2, 4])).toEqual([]);
});

test("an acknowledged write that is not there is lost", () => {
  expect(judge([write(1), write(2)], [], [2])).toEqual(["lost: 1 of a was acknowledged"]);
});

test("a write that was refused and is there all the same is told", () => {
  expect(judge([write(1, { outcome: "refused" })], [], [1])).toEqual(["done all the same: 1 of a was refused"]);
});

test("a read with the key of a session that had ended must see its write", () => {
  expect(judge([write(1), write(2)], [read(1, 27)], [1, 2])).toEqual([expect.stringContaining("stale: 1 of a")]);
  // The session began before, or does not stick, or reads another register.
  expect(judge([write(1), write(2)], [read(1, 27, { sessionMs: 25 })], [1, 2])).toEqual([]);
  expect(judge([write(1), write(2)], [read(1, 27, { sticky: false })], [1, 2])).toEqual([]);
  expect(judge([write(1), write(2, { key: "b" })], [read(1, 27)], [1, 2])).toEqual([]);
});

test("a session's own write counts from its acknowledgement on, sticky or not", () => {
  const own = { session: 1, sticky: false, sessionMs: 0 };
  expect(judge([write(1)], [read(0, 15, own)], [1])).toEqual([expect.stringContaining("stale: 0 of a")]);
  expect(judge([write(1)], [read(0, 14, own)], [1])).toEqual([]);
});

test("nothing becomes older within a session", () => {
  const session = { sticky: false, sessionMs: 0 };
  const writes = [write(1), write(2)];
  expect(judge(writes, [read(2, 30, session), read(1, 40, session)], [1, 2])).toEqual(["backwards: 1 of a after 2 in one session"]);
  expect(judge(writes, [read(2, 30, session), read(1, 40, { ...session, session: 3 })], [1, 2])).toEqual([]);
  // They ran side by side.
  expect(judge(writes, [read(2, 30, { ...session, endMs: 50 }), read(1, 40, session)], [1, 2])).toEqual([]);
});

test("what nobody wrote, or was refused, or is written later, is not read", () => {
  const session = { sticky: false, sessionMs: 0 };
  expect(judge([write(1)], [read(7, 30, session)], [1])).toEqual(["invented: 7 of a"]);
  expect(judge([write(1, { outcome: "refused" })], [read(1, 30, session)], [])).toEqual(["invented: 1 of a"]);
  expect(judge([write(9)], [read(9, 30, session)], [9])).toEqual(["invented: 9 of a"]);
  expect(judge([write(1, { key: "b" })], [read(1, 30, session)], [1])).toEqual(["invented: 1 of a"]);
});

test("the longest gap counts from the beginning to the end", () => {
  expect(longestGapMs([5, 110, 120, 150], 100, 200)).toBe(50);
  expect(longestGapMs([190], 100, 200)).toBe(90);
  expect(longestGapMs([], 100, 200)).toBe(100);
});
