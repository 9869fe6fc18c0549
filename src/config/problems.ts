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
  return new CodedError(
    code,
    code === "not_built_yet" ? "the configuration asks for what is not built yet" : "the configuration is wrong",
    {
      problems,
    },
  );
}
