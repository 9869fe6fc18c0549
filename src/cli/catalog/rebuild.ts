import { abortable } from "../../base/index.ts";
import { configInput } from "../config-options.ts";
import type { CliContext, CliRebuildCounts } from "../context.ts";
import { formatJson, formatPairs, plain } from "../output.ts";
import { listenForStop } from "../serve/stop-signals.ts";
import { RebuildProgress } from "./progress.ts";

/** Options of `catalog rebuild`: where store and database are, and its own. */
export interface RebuildOptions extends Readonly<Record<string, unknown>> {
  readonly dryRun?: boolean;
  readonly takeOver?: boolean;
  readonly json?: boolean;
}

const nothing: CliRebuildCounts = {
  stored: 0,
  rows: 0,
  lookedUp: 0,
  added: 0,
  noted: 0,
  corrected: 0,
  removed: 0,
  overtaken: 0,
  damaged: 0,
};

/** Makes the catalog what the store says, and prints what that took; 1 where it was stopped before its end or a repository cannot be read. */
export async function runCatalogRebuild(options: RebuildOptions, context: CliContext): Promise<number> {
  const { dryRun = false, takeOver = false, json, ...flags } = options;
  const { deps, io } = context;
  const config = deps.loadConfig(configInput(flags, context));
  using stop = listenForStop(io, deps.clock);
  const progress = new RebuildProgress(context);
  let counts = nothing;
  let complete = false;
  try {
    const running = deps.rebuildCatalog(
      config,
      {
        dryRun,
        takeOver,
        onProgress: (sofar) => {
          counts = { ...sofar };
          progress.show(counts);
        },
        onDamaged: (repository) =>
          progress.say(`gitaly: ${plain(repository)}: its newest record in the store is damaged; its row stays as it is`),
      },
      stop.drain,
    );
    counts = await abortable(running, stop.atOnce);
    complete = true;
  } catch (error) {
    if (!stop.drain.aborted) throw error;
  } finally {
    progress.end();
  }
  io.stdout(json ? formatJson(shape(counts, dryRun, complete)) : summary(counts, dryRun, complete));
  return complete && counts.damaged === 0 ? 0 : 1;
}

function shape(counts: CliRebuildCounts, dryRun: boolean, complete: boolean) {
  const { stored, rows, added, noted, corrected, removed, overtaken, damaged } = counts;
  return { complete, dry_run: dryRun, stored, rows, added, corrected, removed, removals_noted: noted, overtaken, damaged };
}

function summary(counts: CliRebuildCounts, dryRun: boolean, complete: boolean): string {
  const did = dryRun ? "nothing was written; it would be" : "done";
  const ended = complete ? did : "stopped before its end; run it again";
  return `${ended}\n\n${formatPairs([
    ["names in the store", counts.stored],
    ["rows compared", counts.rows],
    ["added", counts.added],
    ["corrected", counts.corrected],
    ["removed", counts.removed],
    ["removals noted", counts.noted],
    ["changed by others meanwhile", counts.overtaken],
    ["damaged, left alone", counts.damaged],
  ])}`;
}
