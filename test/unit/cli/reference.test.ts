import { expect, test } from "vitest";
import { cliReference, referencePage } from "../../support/reference-pages.ts";

test("docs/reference/cli.md is what the commands say", () => {
  const { committed, wanted } = referencePage("cli.md", cliReference());
  expect(committed).toBe(wanted);
});
