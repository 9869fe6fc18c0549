import { CodedError } from "./errors.ts";

const maxBytes = 1024;

/**
 * The rule for repository names on every edge: well-formed UTF-8 without U+FFFD, compared as given; no empty, `.` or `..`
 * segment, no leading or trailing `/`, no NUL, at most 1024 bytes.
 *
 * @returns `path` itself. Errors: `invalid_path`.
 */
export function checkRelativePath(path: string): string {
  const problem = problemWith(path);
  if (problem) throw new CodedError("invalid_path", problem, { relativePath: path.slice(0, 200) });
  return path;
}

function problemWith(path: string): string | undefined {
  if (path === "") return "repository path not set";
  if (!path.isWellFormed() || path.includes("\ufffd")) return "relative path is not valid UTF-8";
  if (Buffer.byteLength(path) > maxBytes) return "relative path is longer than 1024 bytes";
  if (path.includes("\0")) return "relative path contains a NUL byte";
  for (const segment of path.split("/")) {
    if (segment === "") return "relative path has an empty segment";
    if (segment === "." || segment === "..") return "relative path escapes root directory";
  }
  return undefined;
}
