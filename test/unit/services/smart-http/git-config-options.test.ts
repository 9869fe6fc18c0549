import { expect, test } from "vitest";
import { checkGitConfigOptions } from "../../../../src/services/smart-http/git-config-options.ts";

test("options that only tune speed are taken", () => {
  expect(() => checkGitConfigOptions(["pack.threads=4", "uploadpack.allowFilter=true", "core.compression=0"])).not.toThrow();
});

test.each([
  "core.sshCommand=touch /tmp/pwn",
  "uploadpack.packObjectsHook=x",
  "receive.maxInputSize=1",
  "transfer.hideRefs=refs/x",
  "alias.x=!y",
])("%j is refused by its key", (option) => {
  const key = option.slice(0, option.indexOf("=")).toLowerCase();
  expect(() => checkGitConfigOptions([option])).toThrow(
    expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(key) }),
  );
});

test.each(["", "=x", "pack.threads", "x".repeat(2000)])("%j is no option", (option) => {
  expect(() => checkGitConfigOptions([option])).toThrow(expect.objectContaining({ code: "invalid_argument" }));
});

test("a key is quoted without what could break a log or a terminal", () => {
  expect(() => checkGitConfigOptions(["\x1b[31m\n=1"])).toThrow("git_config_options: ??31m? is not supported here");
});
