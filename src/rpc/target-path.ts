import { CodedError, checkRelativePath } from "../base/index.ts";
import type { Repository__Output } from "../proto/gen/gitaly/Repository.ts";

/**
 * The checked relative path of the repository that a request names.
 *
 * Errors: `invalid_argument`, `invalid_path`.
 */
export function targetPath(repository: Repository__Output | null | undefined, storageName = "default"): string {
  if (!repository || (repository.storageName === "" && repository.relativePath === "")) {
    throw new CodedError("invalid_argument", "repository not set");
  }
  if (repository.storageName === "") throw new CodedError("invalid_argument", "storage name not set");
  if (repository.storageName !== storageName) {
    throw new CodedError("invalid_argument", "storage name not found", { storageName: repository.storageName.slice(0, 200) });
  }
  return checkRelativePath(repository.relativePath);
}
