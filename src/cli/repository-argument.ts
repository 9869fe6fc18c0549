import { CodedError, checkRelativePath } from "../base/index.ts";
import { UsageError } from "./errors.ts";
import { plain } from "./output.ts";

/** The repository message for a path from the command line, checked before any call. */
export function repositoryArgument(path: string): { storageName: string; relativePath: string } {
  try {
    return { storageName: "default", relativePath: checkRelativePath(path) };
  } catch (error) {
    if (!CodedError.is(error, "invalid_path")) throw error;
    throw new UsageError(`${error.message}: ${plain(path.slice(0, 200)) || '""'}`, "a repository is named like demo/app.git");
  }
}
