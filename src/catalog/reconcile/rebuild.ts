import { CodedError, neverAborted, type Random, randomHex, startDeadline } from "../../base/index.ts";
import { migrate } from "../migrate.ts";
import { endMark, type Holder, readMark, renewMark, takeMark } from "./mark.ts";
import { type ReconcileCounts, type ReconcileDeps, reconcile } from "./reconcile.ts";
import { hasTables } from "./rows.ts";

export interface RebuildOptions {
  /** Of the store's cluster. */
  readonly clusterId: string;
  /** Counts what would be written, and writes nothing. */
  readonly dryRun: boolean;
  /** Also where the catalog lists the repositories of another cluster. */
  readonly takeOver: boolean;
}

/** Kept while a run shows no sign of life. */
const leaseMs = 60_000;
const endTimeoutMs = 2000;

/**
 * Brings the schema up to date and makes the catalog what the store says, thoroughly. Errors: those of `reconcile`; `cluster_mismatch` where the catalog is
 * of another cluster.
 */
export async function rebuild(
  { clusterId, dryRun, takeOver }: RebuildOptions,
  deps: ReconcileDeps & { readonly random: Random },
  signal: AbortSignal,
): Promise<ReconcileCounts> {
  const { database } = deps;
  if (!dryRun) await migrate(database, signal);
  const tables = !dryRun || (await hasTables(database, signal));
  const mark = tables ? await readMark(database, signal) : undefined;
  if (mark && mark.clusterId !== clusterId && !takeOver) {
    throw new CodedError(
      "cluster_mismatch",
      "the database lists the repositories of another cluster; --take-over makes it this cluster's",
      {
        store: clusterId,
        database: mark.clusterId,
      },
    );
  }
  const options = { thorough: true, dryRun, hasTables: tables };
  if (dryRun) return await reconcile(options, deps, signal);
  const by: Holder = { clusterId, holder: `rebuild ${randomHex(deps.random, 8)}`, leaseMs };
  await takeMark(database, by, signal);
  let whole = false;
  try {
    const counts = await reconcile(options, { ...deps, onPage: (sofar) => page(by, deps, sofar, signal) }, signal);
    whole = true;
    return counts;
  } finally {
    // Also after an abort: otherwise nodes would wait for the lease to end.
    using deadline = startDeadline(deps.clock, endTimeoutMs, neverAborted);
    await endMark(database, by.holder, whole, deadline.signal).catch((error) =>
      deps.logger.warn("the end of a rebuild was not noted", { error }),
    );
  }
}

/** Somebody else may have taken over: both write the same. */
async function page(by: Holder, { database, onPage }: ReconcileDeps, counts: ReconcileCounts, signal: AbortSignal): Promise<void> {
  await renewMark(database, by, signal);
  await onPage?.(counts);
}
