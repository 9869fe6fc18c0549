import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "../../../src/base/index.ts";
import { createProgram } from "../../../src/cli/program.ts";
import { keys } from "../../../src/config/keys.ts";
import { runFakeCli } from "../../support/fake-cli.ts";

test("--version prints the version of the package and nothing else", async () => {
  const { version } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as { version: string };
  expect(await runFakeCli("--version")).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

test.each(["--help", "serve --help", "repo --help", "repo create --help", "help route"])("%s prints help and ends with 0", async (line) => {
  const { code, stdout, stderr } = await runFakeCli(line);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^Usage: gitaly /);
});

test.each([
  ["serv", /unknown command 'serv'/, /serve/],
  ["members --jsn", /unknown option '--jsn'/, /--json/],
  ["route", /missing required argument 'repo'/, /--help/],
  ["route a b", /too many arguments/, /--help/],
  ["serve --data-dir", /argument missing/, /--help/],
  ["repo create a --object-format md5", /sha1, sha256/, /--help/],
  ["route ../etc", /escapes root directory/, /demo\/app\.git/],
  ["route /etc", /empty segment/, /demo\/app\.git/],
  ["members --addr ftp://h", /--addr must be/, /http:\/\/127\.0\.0\.1:8075/],
  ["members --addr http://h:0", /--addr must be/, /http:\/\/127\.0\.0\.1:8075/],
  ["members --addr https://h", /TLS is not built yet/, /operations\.md/],
  ["members --token-file x", /token is not built yet/, /operations\.md/],
  ["repo rm a", /needs to be confirmed/, /--yes/],
])("`gitaly %s` is bad usage: one line, a hint, exit code 2", async (line, message, hint) => {
  const { code, stdout, stderr } = await runFakeCli(line);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr.split("\n")).toEqual([expect.stringMatching(message), expect.stringMatching(hint), ""]);
  expect(stderr).toMatch(/^gitaly: /);
});

test.each(["", "repo", "config"])("`gitaly %s` names no command: help on stderr, exit code 2", async (line) => {
  const { code, stdout, stderr } = await runFakeCli(line);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^Usage: gitaly/);
});

test("every flag that the configuration knows is a flag of serve, check and config show", () => {
  const known = Object.values(keys).flatMap((spec) => ("flag" in spec ? [`--${spec.flag}`] : []));
  const program = createProgram(() => {}, {});
  const show = program.commands.find((command) => command.name() === "config")?.commands[0];
  for (const command of [...program.commands.filter((command) => ["serve", "check"].includes(command.name())), show]) {
    const flags = command?.options
      .map((option) => option.long)
      .filter((flag) => !["--json", "--config", "--token-file"].includes(flag ?? ""));
    expect([...(flags ?? [])].sort()).toEqual([...known].sort());
  }
});
