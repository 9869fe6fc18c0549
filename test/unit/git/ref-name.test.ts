import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isRefName } from "../../../src/git/ref-name.ts";

test.each([
  "refs/heads/main",
  "refs/heads/a/b",
  "refs/x/y",
  "refs/heads/--upload-pack=x",
  "refs/heads/caf\xe9",
  "refs/heads/@",
  "refs/heads/a.b",
])("%j is a ref's name", (name) => {
  expect(isRefName(name, false)).toBe(true);
});

test.each([
  "",
  "HEAD",
  "heads/main",
  "refs/",
  "refs/main",
  "refs//a",
  "refs/heads/",
  "refs/heads/.a",
  "refs/heads/a.lock",
  "refs/heads/a.lock/b",
  "refs/heads/a..b",
  "refs/heads/a b",
  "refs/heads/a~1",
  "refs/heads/a^",
  "refs/heads/a:b",
  "refs/heads/a?",
  "refs/heads/a*",
  "refs/heads/a[",
  "refs/heads/a\\b",
  "refs/heads/a@{1}",
  "refs/heads/a.",
  "refs/heads/a\x7f",
  "refs/heads/a\n",
  `refs/heads/${"a".repeat(1000)}`,
])("%j is not", (name) => {
  expect(isRefName(name, false)).toBe(false);
});

test("one level is enough where a ref is only deleted", () => {
  expect(isRefName("refs/main", true)).toBe(true);
});

test("git agrees on names made of awkward pieces", () => {
  const piece = fc.constantFrom("a", "b", ".", "/", "@", "{", "lock", ".lock", "-", "~", " ", "é");
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 6 }), (pieces) => {
      const name = `refs/heads/${pieces.join("")}`;
      expect([name, isRefName(Buffer.from(name).toString("latin1"), false)]).toEqual([name, gitAgrees(name)]);
    }),
    { numRuns: 60 },
  );
});

function gitAgrees(name: string): boolean {
  try {
    execFileSync("git", ["check-ref-format", name], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
