import { expect, test } from "vitest";
import { protocolVersion } from "../../../src/gateway/protocol-version.ts";

test.each([
  [undefined, ""],
  ["", ""],
  ["version=0", ""],
  ["version=1", "version=1"],
  ["version=2", "version=2"],
  ["version=2:object-format=sha1", "version=2"],
  ["version=1:version=2", "version=2"],
  [["version=1", "x"], "version=1"],
  ["version=3", ""],
  ["version=2 ", ""],
  ["--upload-pack=touch /tmp/pwn", ""],
])("a Git-Protocol header of %j is passed on as %j", (header, expected) => {
  expect(protocolVersion(header)).toBe(expected);
});
