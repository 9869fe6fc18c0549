import { Reconciler, type ReconcilerOptions } from "../catalog/index.ts";
import { createRepositorySource } from "../services/index.ts";
import { type ObjectStore, RepositoryScan } from "../storage/index.ts";
import type { MemberViews } from "./member-view.ts";
import type { NodeParts } from "./node-parts.ts";

/** Keeps the catalog what the store says, from the moment there is a database until `signal` aborts. Never rejects. */
export async function reconcileCatalog(
  options: Pick<ReconcilerOptions, "node" | "clusterId" | "intervalMs">,
  deps: Pick<NodeParts, "clock" | "random" | "logger" | "metrics" | "database" | "views"> & { readonly store: ObjectStore },
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, logger, metrics, views, store } = deps;
  const database = await deps.database.wait(signal).catch(() => undefined);
  if (!database || signal.aborted) return;
  const source = createRepositorySource(new RepositoryScan({ store, clock, random }));
  await using reconciler = new Reconciler(options, { database, source, clock, random, logger, metrics });
  // What it had committed and not noted yet, nobody else will note.
  using _watch = onMemberFailed(views, () => reconciler.ask());
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

/** Calls `listener` whenever a member is found to have failed. */
function onMemberFailed(views: MemberViews, listener: () => void): Disposable {
  let known: ReadonlySet<string> = failedMembers(views);
  return views.onChange(() => {
    const failed = failedMembers(views);
    if ([...failed].some((name) => !known.has(name))) listener();
    known = failed;
  });
}

function failedMembers({ current }: MemberViews): ReadonlySet<string> {
  return new Set(current.members.filter(({ status }) => status === "failed").map(({ name }) => name));
}
