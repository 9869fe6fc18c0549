import { expect, test } from "vitest";
import type { RepositoryView } from "../../../src/git/index.ts";
import { resolveRevision } from "../../../src/git/revision.ts";
import { refViewOf } from "../../support/git-fixture.ts";

const [one, two, three, four] = ["1", "2", "3", "4"].map((digit) => digit.repeat(40)) as [string, string, string, string];
const view: RepositoryView = {
  objectFormat: "sha1",
  head: "refs/heads/main",
  refs: refViewOf([
    { name: "refs/heads/main", oid: one },
    { name: "refs/heads/both", oid: two },
    { name: "refs/tags/both", oid: three },
    { name: "refs/heads/beef", oid: two },
    { name: `refs/tags/${four}`, oid: three },
    { name: "refs/remotes/origin/HEAD", oid: four },
    { name: "refs/heads/\xc2", oid: four },
  ]),
  snapshot: () => Promise.reject(new Error("not needed")),
};

test.each([
  ["HEAD", one],
  ["main", one],
  ["both", three],
  ["heads/both", two],
  ["refs/heads/both", two],
  ["beef", two],
  ["origin", four],
  ["\xc2", four],
  // A whole id is never a tag's name.
  [four, four],
  ["cafe", "cafe"],
  ["CAFE1^{commit}~2", "cafe1^{commit}~2"],
  ["main^2~10^{}", `${one}^2~10^{}`],
  ["absent", undefined],
  ["abc", undefined],
  ["main^{/text}", undefined],
  ["main~99999999", undefined],
  ["^main", undefined],
])("%j becomes %s", (revision, expected) => {
  expect(resolveRevision(view, revision)).toBe(expected);
});

// B103
test.each([
  ["", "empty revision"],
  ["--output=/tmp/pwn", "revision can't start with '-'"],
  ["wrong name", "revision can't contain whitespace"],
  ["a\nb", "revision can't contain whitespace"],
  ["a\0b", "revision can't contain NUL"],
  ["HEAD:file", "revision can't contain ':'"],
  ["a\\b", "revision can't contain '\\'"],
  ["a".repeat(5000), "revision is too long"],
])("%j is refused: %s", (revision, message) => {
  expect(() => resolveRevision(view, revision)).toThrow(expect.objectContaining({ code: "invalid_argument", message }));
});
