import { expect, test } from "vitest";
import { compileRefPattern } from "../../../../src/services/ref/ref-pattern.ts";

test.each([
  ["refs/heads", "refs/heads/a", true],
  ["refs/heads/", "refs/heads/a/b", true],
  ["refs/head", "refs/heads/a", false],
  ["refs/heads/a", "refs/heads/a", true],
  ["refs/heads/a", "refs/heads/ab", false],
  ["refs/heads/*", "refs/heads/a", true],
  ["refs/heads/*", "refs/heads/a/b", false],
  ["refs/*/a", "refs/heads/a", true],
  ["refs/**", "refs/heads/a/b", true],
  ["refs/**/b", "refs/b", true],
  ["refs/**/b", "refs/x/y/b", true],
  ["refs/**/b", "refs/x/xb", false],
  ["refs/**/b", "refs/xb", false],
  ["refs/**/", "refs/x", false],
  ["refs/**b", "refs/x/b", false],
  ["**/b", "refs/heads/b", true],
  ["refs/heads/a?", "refs/heads/ab", true],
  ["refs/heads?a", "refs/heads/a", false],
  ["refs/heads/[a-c]", "refs/heads/b", true],
  ["refs/heads/[!a-c]", "refs/heads/b", false],
  ["refs/heads/[^a-c]", "refs/heads/d", true],
  ["refs/heads/[]x]", "refs/heads/]", true],
  ["refs/heads/[[:digit:]]*", "refs/heads/1.x", true],
  ["refs/heads/[[:alpha:]]*", "refs/heads/1.x", false],
  ["refs/heads/\\a*", "refs/heads/abc", true],
  ["refs/heads/[a", "refs/heads/a", false],
  ["refs/heads/\xc4*", "refs/heads/\xc4hh", true],
])("the pattern %j on %j: %s", (pattern, name, matches) => {
  expect(compileRefPattern(pattern).matches(name)).toBe(matches);
});

test("one compiled pattern serves many names, one after the other", () => {
  const { matches } = compileRefPattern("refs/**/x*");
  const names = ["refs/x", "refs/a/x1", "refs/a/b", "refs/a/x/y", "refs/x"];
  expect(names.map(matches)).toEqual([true, true, false, false, true]);
});

test("a pattern made to be slow is not", () => {
  const pattern = compileRefPattern(`refs/${"*a".repeat(500)}b`);
  expect(pattern.matches(`refs/${"a".repeat(1000)}`)).toBe(false);
});
