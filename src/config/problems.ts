import { CodedError } from "../base/index.ts";

/** One thing that is wrong with the configuration. */
export interface Problem {
  readonly code: "bad_config" | "not_built_yet";
  /** `FILE:LINE`, `environment` or `command line`; empty where nothing in particular is at fault. */
  readonly where: string;
  /** The key, environment name or flag as the user wrote it. */
  readonly name: string;
  readonly message: string;
}

/**
 * One error for all problems. Its field `problems` lists them; its code is `not_built_yet` where nothing else is wrong,
 * else `bad_config`.
 */
export function configError(problems: readonly Problem[]): CodedError {
  const code = problems.every((problem) => problem.code === "not_built_yet") ? "not_built_yet" : "bad_config";
  const message = code === "not_built_yet" ? "the configuration asks for what is not built yet" : "the configuration is wrong";
  return new CodedError(code, message, { problems: [...problems].sort((a, b) => lineOf(a) - lineOf(b)) });
}

/** Problems of the file come first, in its order. */
function lineOf({ where }: Problem): number {
  const line = /:(\d+)$/.exec(where)?.[1];
  return line === undefined ? Number.MAX_SAFE_INTEGER : Number(line);
}
