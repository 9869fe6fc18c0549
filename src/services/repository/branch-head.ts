import { type ByteString, CodedError } from "../../base/index.ts";

const maxBytes = 244;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what a ref name may not have
const forbidden = /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\.lock(?:\/|$)|(?:^|\/)\.|[./]$|^\/|^-/;

/**
 * The full ref name of the branch a new repository starts with; `main` where none is given.
 *
 * Errors: `invalid_argument` for what git would not take as a branch name.
 */
export function branchHead(branch: Uint8Array): ByteString {
  const name = Buffer.from(branch).toString("latin1") || "main";
  if (name.length > maxBytes || forbidden.test(name) || name === "HEAD" || name === "@") {
    throw new CodedError("invalid_argument", "default_branch is not a valid branch name", { defaultBranch: name.slice(0, maxBytes) });
  }
  return `refs/heads/${name}`;
}
