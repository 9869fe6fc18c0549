import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { parseTrailers } from "../../../../src/services/commit/parse-trailers.ts";

const messages = {
  "one trailer": "s\n\nbody\n\nSigned-off-by: A <a@b>\n",
  "several and one twice": "s\n\nA: 1\nB: 2\nA: 3\n",
  "a folded value": "s\n\nbody\n\nKey: one\n two\n\tthree\nOther: x\n",
  "text among them": "s\n\nnot a trailer\nA: 1\n",
  "text among them, and one that git writes": "s\n\nnot a trailer\nSigned-off-by: A <a@b>\nX: y\n",
  "too much text": "s\n\na\nb\nc\nd\ne\nSigned-off-by: A <a@b>\n",
  "a title that looks like one": "Fix: the bug\n",
  "a title of two lines": "Fix: the bug\nAgain: it\n",
  "blank lines at the end": "s\n\nA: 1\n\n\n",
  "no space behind the colon": "s\n\nA:1\nB :2\n",
  "a key with a space": "s\n\nNot a key: 1\n",
  "an empty value": "s\n\nA:\n",
  "a colon in the value": "s\n\nA: b: c\n",
  "a folded line first": "s\n\n folded\nA: 1\n",
  "a cherry-pick": "s\n\n(cherry picked from commit 1234)\nA: 1\n",
  nothing: "",
  "no blank line before": "s\nbody\nA: 1\n",
};

test.each(Object.entries(messages))("%s: the trailers are the ones git finds", (_, message) => {
  const found = execFileSync("git", ["-c", "trailer.separators=:", "interpret-trailers", "--parse", "--no-divider"], {
    input: message,
    cwd: "/",
  });
  const expected = found
    .toString("latin1")
    .split("\n")
    .filter((line) => line.includes(":"))
    .map((line) => ({ key: line.slice(0, line.indexOf(":")), value: line.slice(line.indexOf(":") + 1).trim() }));
  expect(parseTrailers(message)).toEqual(expected);
});
