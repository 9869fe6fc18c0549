import { expect, test } from "vitest";
import { configurationReference, referencePage } from "../../support/reference-pages.ts";

test("docs/reference/configuration.md is what the table of keys says", () => {
  const { committed, wanted } = referencePage("configuration.md", configurationReference());
  expect(committed).toBe(wanted);
});
