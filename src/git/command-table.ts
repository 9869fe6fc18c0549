import { isAbsolute } from "node:path";
import { CodedError } from "../base/index.ts";

/** The only git commands that a node ever runs. */
export type GitCommand = "cat-file" | "index-pack" | "rev-list" | "upload-pack" | "version";

interface CommandRule {
  /** Flags as they are, or patterns that a whole flag must match. */
  readonly flags: readonly (string | RegExp)[];
  /** Whether one absolute path may follow the flags, and whether the command knows `--end-of-options`. */
  readonly path?: "after end-of-options" | "bare";
  readonly config?: Readonly<Record<string, string>>;
}

const severities = "=badTimezone=ignore,missingSpaceBeforeDate=ignore,zeroPaddedFilemode=ignore";

/** fsck complaints that too many honest old repositories raise, silenced for commands that check objects. */
export const fsckSeverities: string = severities;

const rules: Readonly<Record<GitCommand, CommandRule>> = {
  version: { flags: [] },
  "cat-file": { flags: ["--batch-command"] },
  "index-pack": {
    flags: [
      "--stdin",
      "--fix-thin",
      `--strict${severities}`,
      "--fsck-objects",
      `--fsck-objects${severities}`,
      "--show-resolving-progress",
      /^--max-input-size=[0-9]{1,16}$/,
    ],
    path: "bare",
    // The pack becomes durable in the object store, not here.
    config: { "core.fsync": "none", "pack.writeReverseIndex": "true" },
  },
  "rev-list": { flags: ["--objects", "--stdin", "--quiet"] },
  "upload-pack": {
    flags: ["--stateless-rpc", "--strict"],
    path: "after end-of-options",
    config: { "uploadpack.allowFilter": "true", "uploadpack.allowAnySHA1InWant": "true", "transfer.advertiseObjectInfo": "true" },
  },
};

export interface CommandLine {
  readonly args: readonly string[];
  readonly config: Readonly<Record<string, string>>;
}

/** Builds the argument list of an allowed command. Errors: `internal` for anything that the table does not list. */
export function commandLine(command: GitCommand, flags: readonly string[], path?: string): CommandLine {
  const rule = rules[command];
  for (const flag of flags) {
    if (!rule.flags.some((allowed) => (typeof allowed === "string" ? allowed === flag : allowed.test(flag)))) {
      throw new CodedError("internal", "git flag is not allowed", { command, flag });
    }
  }
  const args: string[] = [command, ...flags];
  if (path !== undefined) {
    if (!rule.path || !isAbsolute(path) || path.includes("\0")) throw new CodedError("internal", "git operand is not allowed", { command });
    if (rule.path === "after end-of-options") args.push("--end-of-options");
    args.push(path);
  }
  return { args, config: rule.config ?? {} };
}
