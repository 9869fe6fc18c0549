import { expect, test } from "vitest";
import { commandLine } from "../../../src/git/command-table.ts";
import { gitEnvironment } from "../../../src/git/git-environment.ts";
import { isAtLeast } from "../../../src/git/git-version.ts";

test("only the flags of the table pass", () => {
  expect(commandLine("rev-list", ["--objects", "--stdin"]).args).toEqual(["rev-list", "--objects", "--stdin"]);
  expect(() => commandLine("rev-list", ["--output=/tmp/x"])).toThrow("git flag is not allowed");
  expect(() => commandLine("index-pack", ["--max-input-size=1 --x"])).toThrow("git flag is not allowed");
});

// B103
test("a path stands after the end of options, is absolute, and only where the command takes one", () => {
  expect(commandLine("upload-pack", ["--strict"], "/r").args).toEqual(["upload-pack", "--strict", "--end-of-options", "/r"]);
  for (const path of ["-x", "r", "--upload-pack=touch", "/a\0b"]) {
    expect(() => commandLine("upload-pack", [], path)).toThrow("git operand is not allowed");
  }
  expect(() => commandLine("rev-list", [], "/r")).toThrow("git operand is not allowed");
});

test("a child's environment is made, not inherited", () => {
  process.env["GIT_DIR"] = "/elsewhere";
  try {
    const env = gitEnvironment({ setGitDir: false, config: { "a.b": "c" }, protocol: "version=2" });
    expect(env["GIT_DIR"]).toBeUndefined();
    expect(env).toMatchObject({
      HOME: "/nonexistent",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_PROTOCOL: "version=2",
    });
    const last = Number(env["GIT_CONFIG_COUNT"]) - 1;
    expect([env[`GIT_CONFIG_KEY_${last}`], env[`GIT_CONFIG_VALUE_${last}`]]).toEqual(["a.b", "c"]);
  } finally {
    delete process.env["GIT_DIR"];
  }
});

test("alternates whose path would be split or unquoted are quoted", () => {
  const env = (...alternates: string[]) =>
    gitEnvironment({ directories: { gitDir: "/g", objectDir: "/o", alternates }, setGitDir: true, config: {} })[
      "GIT_ALTERNATE_OBJECT_DIRECTORIES"
    ];
  expect(env("/a", "/b c")).toBe("/a:/b c");
  expect(env("/a:b", '/q"\\')).toBe('"/a:b":"/q\\"\\\\"');
});

test("a value with a NUL byte never reaches a child", () => {
  expect(() => gitEnvironment({ setGitDir: false, config: { "a.b": "\0" } })).toThrow("contains NUL");
});

test.each([
  ["2.39.5", true],
  ["2.40", true],
  ["3.0.1", true],
  ["2.38.9", false],
  ["1.99", false],
])("git %s is new enough: %s", (version, expected) => {
  expect(isAtLeast(version, [2, 39])).toBe(expected);
});
