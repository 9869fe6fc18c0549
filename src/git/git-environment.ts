import { availableParallelism } from "node:os";
import { CodedError } from "../base/index.ts";

/** What a child may see of a repository. */
export interface GitDirectories {
  readonly gitDir: string;
  readonly objectDir: string;
  /** Object directories that are read besides `objectDir`. */
  readonly alternates?: readonly string[];
}

const commonConfig: Readonly<Record<string, string>> = {
  "safe.directory": "*",
  "gc.auto": "0",
  "maintenance.auto": "false",
  "core.useReplaceRefs": "false",
  // Object ids are never looked up as ref names.
  "core.warnAmbiguousRefs": "false",
  "core.bigFileThreshold": "50m",
  "core.alternateRefsCommand": "exit 0 #",
  "pack.windowMemory": "100m",
  "pack.threads": String(Math.max(1, Math.floor(Math.log2(availableParallelism())))),
};

export interface GitEnvironmentOptions {
  readonly directories?: GitDirectories | undefined;
  /** Whether GIT_DIR names the repository; not for commands that get it as their operand. */
  readonly setGitDir: boolean;
  readonly protocol?: string | undefined;
  readonly config: Readonly<Record<string, string>>;
}

/** The whole environment of a git child: nothing of this process's own but where programs are found. */
export function gitEnvironment(options: GitEnvironmentOptions): Record<string, string> {
  const env: Record<string, string> = {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HOME: "/nonexistent",
    XDG_CONFIG_HOME: "/nonexistent",
    LANG: "C",
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
  };
  const { directories } = options;
  if (directories) {
    if (options.setGitDir) env["GIT_DIR"] = directories.gitDir;
    env["GIT_OBJECT_DIRECTORY"] = directories.objectDir;
    if (directories.alternates) env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = directories.alternates.map(quoteAlternate).join(":");
  }
  if (options.protocol) env["GIT_PROTOCOL"] = options.protocol;
  const config = Object.entries({ ...commonConfig, ...options.config });
  env["GIT_CONFIG_COUNT"] = String(config.length);
  for (const [index, [key, value]] of config.entries()) {
    env[`GIT_CONFIG_KEY_${index}`] = key;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  for (const value of Object.values(env)) {
    if (value.includes("\0")) throw new CodedError("internal", "environment of a git child contains NUL");
  }
  return env;
}

/** The list is split at colons; an entry in double quotes is unquoted the way C does. */
function quoteAlternate(path: string): string {
  if (!/[:"\n\\]/.test(path)) return path;
  const escaped = path.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  return `"${escaped}"`;
}
