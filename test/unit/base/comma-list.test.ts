import { expect, test } from "vitest";
import { commaList } from "../../../src/base/index.ts";

test.each([
  ["", []],
  [" , ,", []],
  ["a", ["a"]],
  [" a ,b,, c d\t", ["a", "b", "c d"]],
])("%j holds %j", (text, entries) => {
  expect(commaList(text)).toEqual(entries);
});
