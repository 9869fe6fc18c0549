import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command, Option } from "commander";
import { z } from "zod";
import { packageRoot } from "../../src/base/index.ts";
import { createProgram } from "../../src/cli/program.ts";
import { ignoredEnv, ignoredKeys } from "../../src/config/ignored-keys.ts";
import type { KeySpec } from "../../src/config/key-spec.ts";
import { envName, type KeyName, keys } from "../../src/config/keys.ts";
import { notBuilt } from "../../src/config/not-built.ts";

const kindNames: Readonly<Record<KeySpec["kind"], string>> = {
  string: "string",
  address: "HOST:PORT",
  url: "URL",
  duration: "duration",
  size: "bytes",
  integer: "integer",
  number: "number",
  boolean: "boolean",
  list: "list of URLs",
  secrets: "list of secrets",
};

/** A page of docs/reference as it is committed, and as it should be. With UPDATE_REFERENCE=1 it is written first. */
export function referencePage(name: string, wanted: string): { committed: string; wanted: string } {
  const path = join(packageRoot, "docs", "reference", name);
  if (process.env["UPDATE_REFERENCE"] === "1") writeFileSync(path, wanted);
  return { committed: readFileSync(path, "utf8"), wanted };
}

/** docs/reference/configuration.md, from the table of keys. */
export function configurationReference(): string {
  const names = Object.keys(keys) as KeyName[];
  const tables = [...new Set(names.map(tableOf))];
  return `${[
    "# Configuration",
    generated("the tables of keys in `src/config`"),
    "`gitaly serve --config FILE` reads a TOML file. Environment variables beat the file, flags beat both. An empty variable counts as",
    "not set. Lists are separated by commas in the environment; a flag for a list is given once per entry.",
    "",
    '- **duration**: a number with its unit, as in Go: `"300ms"`, `"10s"`, `"1m30s"`.',
    '- **bytes**: a whole number, or text with a unit: `"512MiB"`, `"10GB"`.',
    "- **HOST:PORT**: port 0 means any free one; an IPv6 host stands in brackets; an empty host means every IPv4 interface.",
    "",
    "A key that is not listed here is an error. `gitaly config show` prints every value and where it came from; passwords and keys are masked.",
    "",
    ...tables.flatMap((table) => [
      table === "" ? "## Top level" : `## \`[${table}]\``,
      "",
      "| key | type | default | flag | meaning |",
      "|---|---|---|---|---|",
      ...names.filter((name) => tableOf(name) === table).map(keyRow),
      "",
    ]),
    "## Environment",
    "",
    "The variable of a key is `GITALY_` and its name in capitals, every other character an underscore:",
    `\`cluster.replicas\` is \`${envName("cluster.replicas")}\`, \`listen_addr\` is \`${envName("listen_addr")}\`.`,
    "",
    "## Not built yet",
    "",
    "These are refused with exit code 2, never ignored:",
    "",
    "| | what is said |",
    "|---|---|",
    ...notBuilt.map(({ key, flag, values, shape, sentence }) => {
      const name = key === undefined ? `--${flag}` : shape === "array" ? `[[${key}]]` : key;
      return `| \`${name}\`${values ? ` = ${values.map((value) => `\`${JSON.stringify(value)}\``).join(", ")}` : ""} | ${sentence} |`;
    }),
    "| `https://`, `grpcs://` in `cluster.join_addrs` | TLS is not built yet; use plain gRPC inside a network you trust |",
    "",
    "## Keys of Gitaly's without an effect",
    "",
    "They are accepted, so that a file of Gitaly's can be used, and named at start:",
    "",
    ...ignoredKeys.map((name) => `- \`${name}\``),
    "",
    `In the environment: ${ignoredEnv.map((name) => `\`${name}\``).join(", ")}. Any other unknown \`GITALY_…\` variable is named at start, too.`,
    "",
  ].join("\n")}`;
}

/** docs/reference/cli.md, from the commands themselves. */
export function cliReference(): string {
  const program = createProgram(() => {}, {});
  const commands = program.commands.flatMap((command) => (command.commands.length > 0 ? [...command.commands] : [command]));
  return `${[
    "# Commands",
    generated("the commands in `src/cli`"),
    "Exit codes: 0 done, 1 failed, 2 bad usage or configuration. Errors are lines on stderr that begin with `gitaly:`.",
    "",
    "| command | |",
    "|---|---|",
    ...commands.map((command) => `| [\`${nameOf(command)}\`](#${nameOf(command).replaceAll(" ", "-")}) | ${command.description()} |`),
    "| `gitaly --version` | print the version |",
    "",
    ...commands.flatMap(commandSection),
  ].join("\n")}`;
}

function generated(source: string): string {
  return `\nThis page is generated from ${source}; \`UPDATE_REFERENCE=1\` and its test write it.\n`;
}

function tableOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf(".")));
}

function keyRow(name: KeyName): string {
  const spec = keys[name] as KeySpec;
  const unset = spec.unset === undefined || spec.unset === "none" ? "not set" : `not set: ${spec.unset}`;
  const fallback = spec.default === undefined ? unset : `\`${JSON.stringify(spec.default)}\``;
  const type = spec.schema instanceof z.ZodEnum ? spec.schema.options.map((option) => `\`"${option}"\``).join(", ") : kindNames[spec.kind];
  return `| \`${name}\` | ${type} | ${fallback} | ${spec.flag === undefined ? "" : `\`--${spec.flag}\``} | ${spec.doc} |`;
}

function commandSection(command: Command): string[] {
  const words = command.registeredArguments.map((argument) => ` ${argument.name().toUpperCase()}`).join("");
  return [
    `## ${nameOf(command)}`,
    "",
    `\`${nameOf(command)}${words} [options]\``,
    "",
    `${command.description()}.`,
    "",
    ...command.registeredArguments.map((argument) => `- \`${argument.name().toUpperCase()}\`: ${argument.description}`),
    ...command.options.map(optionLine),
    "",
  ];
}

function optionLine(option: Option): string {
  const choices = option.argChoices ? `: ${option.argChoices.join(" or ")}` : "";
  const fallback = option.defaultValue === undefined ? "" : ` (default: ${String(option.defaultValue)})`;
  return `- \`${option.flags}\`: ${option.description}${choices}${fallback}`;
}

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}
