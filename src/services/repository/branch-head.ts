import { type ByteString, CodedError } from "../../base/index.ts";
import { isRefName } from "../../storage/index.ts";

/** As long as the name of any ref that can be pushed. */
const maxBytes = 1000;

/**
 * The full ref name of the branch a new repository starts with; `main` where none is given.
 *
 * Errors: `invalid_argument` for what git would not take as a branch name.
 */
export function branchHead(branch: Uint8Array): ByteString {
  const name = Buffer.from(branch).toString("latin1") || "main";
  const head = `refs/heads/${name}`;
  if (head.length > maxBytes || name.startsWith("-") || name === "HEAD" || !isRefName(head)) {
    throw new CodedError("invalid_argument", "default_branch is not a valid branch name", { defaultBranch: name.slice(0, maxBytes) });
  }
  return head;
}
