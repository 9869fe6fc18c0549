import { type ByteString, CodedError } from "../../base/index.ts";
import type { Git, GitObject, RepositoryView } from "../../git/index.ts";

/**
 * The commit that a revision names; undefined where there is none.
 *
 * Errors: `corrupt` where a ref of that name leads to an object that git does not find, and those of `readObject`.
 */
export async function readCommit(
  git: Pick<Git, "readObject">,
  view: RepositoryView,
  revision: ByteString,
  signal: AbortSignal,
): Promise<GitObject | undefined> {
  const commit = await git.readObject(view, revision, "commit", signal);
  if (commit?.type === "commit") return commit;
  const oid = targetOf(view, revision);
  // A tag of something else leads to an object, but to no commit.
  if (oid !== undefined && !(await git.readObject(view, oid, "any", signal))) {
    throw new CodedError("corrupt", "git does not find an object that a ref names", { oid });
  }
  return undefined;
}

function targetOf({ head, refs }: RepositoryView, revision: ByteString): string | undefined {
  const names = revision === "HEAD" ? [head] : [revision, `refs/${revision}`, `refs/tags/${revision}`, `refs/heads/${revision}`];
  for (const name of names) {
    const ref = refs.get(name);
    if (ref) return ref.oid;
  }
  return undefined;
}
