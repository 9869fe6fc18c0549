import type { ByteString } from "../../base/index.ts";
import type { RepositoryView } from "../../git/index.ts";

/** The branch people mean when they name none: HEAD's, else main, master, or the first there is; undefined without branches. */
export function defaultBranch(view: Pick<RepositoryView, "head" | "refs">): ByteString | undefined {
  for (const name of [view.head, "refs/heads/main", "refs/heads/master"]) {
    if (view.refs.get(name)) return name;
  }
  for (const { name } of view.refs.withPrefix("refs/heads/")) return name;
  return undefined;
}
