import { type Clock, CodedError } from "../../base/index.ts";
import type { LoadBalancer } from "../../db/index.ts";
import type { Logger } from "../../observability/index.ts";
import type { CatalogChange } from "../statements.ts";
import { eachOf } from "./each-of.ts";
import { goesBack, planRepair, type Repair, type RepairKind } from "./plan.ts";
import type { RepositorySource, StoredName } from "./repository-source.ts";
import { rowsAfter, rowsOf, writeRepairs } from "./rows.ts";

/** How thoroughly, and how fast, catalog and store are compared. */
export interface ReconcileOptions {
  /**
   * True: every record is read and every column compared, and what the store never had is removed, once the store was listed whole.
   * False: a row is looked at only where a newer record follows it, which costs one small request; nothing is removed but what the store says was removed.
   */
  readonly thorough: boolean;
  /** Counts what would be written. Default false. */
  readonly dryRun: boolean;
  /** False where the catalog has no tables, which a dry run does not make. Default true. */
  readonly hasTables: boolean;
  /** Rows and names at a time: bounds memory. Default 500. */
  readonly pageSize: number;
  /** Questions to the store at a time. Default 16. */
  readonly concurrency: number;
  /** Repositories looked at per second. Default unlimited. */
  readonly maxPerSecond: number;
}

const defaultReconcileOptions: Omit<ReconcileOptions, "thorough"> = {
  dryRun: false,
  hasTables: true,
  pageSize: 500,
  concurrency: 16,
  maxPerSecond: Number.POSITIVE_INFINITY,
};

/** What was found and done so far. */
export interface ReconcileCounts extends Readonly<Record<RepairKind, number>> {
  /** Names in the store, of removed repositories too. */
  readonly stored: number;
  /** Rows of the catalog that were compared, of removed repositories too. */
  readonly rows: number;
  /** Names of the store that were looked up in the catalog. */
  readonly lookedUp: number;
  /** Rows that somebody wrote in the meantime; they stay as they are. */
  readonly overtaken: number;
  /** Repositories whose newest record cannot be read; their rows stay as they are. */
  readonly damaged: number;
}

export interface ReconcileDeps {
  readonly database: LoadBalancer;
  readonly source: RepositorySource;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after each page. A rejection ends the run. */
  readonly onPage?: (counts: ReconcileCounts) => void | Promise<void>;
}

// Who writes a row that is taken back again and again is another run, with the same truth.
const maxSettleRounds = 5;

/**
 * Compares catalog and store and repairs the catalog, in pages. May run at any time, beside nodes that write and beside another run, end anywhere and be run
 * again: a row is read first, the store is asked after that, and the repair is written only where the row is still the one that was read.
 * Errors: `store_unavailable`, `database_unavailable`.
 */
export async function reconcile(
  options: Partial<ReconcileOptions> & Pick<ReconcileOptions, "thorough">,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<ReconcileCounts> {
  return await new Reconciliation({ ...defaultReconcileOptions, ...options }, deps).run(signal);
}

class Reconciliation {
  readonly #options: ReconcileOptions;
  readonly #deps: ReconcileDeps;
  readonly #startedMs: number;
  #looks = 0;
  readonly #counts = { stored: 0, rows: 0, lookedUp: 0, added: 0, noted: 0, corrected: 0, removed: 0, overtaken: 0, damaged: 0 };

  constructor(options: ReconcileOptions, deps: ReconcileDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonic();
  }

  async run(signal: AbortSignal): Promise<ReconcileCounts> {
    if (this.#options.thorough) {
      // A store that does not show all it has must not make rows of it vanish.
      for await (const names of this.#deps.source.pages(signal)) {
        this.#counts.stored += names.length;
        await this.#pageDone(0, signal);
      }
    }
    await this.#compareRows(signal);
    await this.#addMissing(signal);
    return this.#counts;
  }

  async #compareRows(signal: AbortSignal): Promise<void> {
    const { pageSize, hasTables } = this.#options;
    for (let after = ""; hasTables; ) {
      const rows = await rowsAfter(this.#deps.database, after, pageSize, signal);
      await this.#repair(await this.#compared(rows, this.#options.thorough, signal), signal);
      this.#counts.rows += rows.length;
      await this.#pageDone(rows.length, signal);
      if (rows.length < pageSize) return;
      after = (rows.at(-1) as CatalogChange).path;
    }
  }

  async #addMissing(signal: AbortSignal): Promise<void> {
    const { thorough, pageSize } = this.#options;
    for await (const page of this.#deps.source.pages(signal)) {
      if (!thorough) this.#counts.stored += page.length;
      for (let at = 0; at < page.length; at += pageSize) {
        const names = page.slice(at, at + pageSize);
        const looks = await this.#addMissingOf(names, signal);
        this.#counts.lookedUp += names.length;
        await this.#pageDone(looks, signal);
      }
    }
  }

  /** Rows that exist were compared before, or written since. Returns how often the store was asked. */
  async #addMissingOf(names: readonly StoredName[], signal: AbortSignal): Promise<number> {
    const known = await this.#knownOf(
      names.flatMap(({ path }) => (path === undefined ? [] : [path])),
      signal,
    );
    const unknown = names.filter(({ path }) => path === undefined || !known.has(path));
    const truths = await this.#truths(unknown, signal);
    const hashed = await this.#knownOf(
      truths.flatMap(({ item, truth }) => (truth && item.path === undefined ? [truth.path] : [])),
      signal,
    );
    const repairs = truths.flatMap(({ truth }) => (truth && !hashed.has(truth.path) ? [planRepair(undefined, truth) as Repair] : []));
    await this.#repair(repairs, signal);
    return unknown.length;
  }

  async #knownOf(paths: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    if (!this.#options.hasTables) return new Set();
    return new Set((await rowsOf(this.#deps.database, paths, signal)).map(({ path }) => path));
  }

  /** The repairs that rows need. */
  async #compared(rows: readonly CatalogChange[], thorough: boolean, signal: AbortSignal): Promise<Repair[]> {
    const { source } = this.#deps;
    const looked = thorough
      ? rows
      : (
          await this.#readable(
            rows,
            ({ path }) => path,
            async (row, limited) =>
              !mayBeGeneration(row.generation) || (await source.hasNewer(row.path, row.generation, limited)) ? row : undefined,
            signal,
          )
        ).flatMap(({ answer }) => answer ?? []);
    const truths = await this.#truths(looked, signal);
    return truths.flatMap(({ item, truth }) => (truth || thorough ? (planRepair(item as CatalogChange, truth) ?? []) : []));
  }

  async #truths<T extends CatalogChange | StoredName>(
    items: readonly T[],
    signal: AbortSignal,
  ): Promise<{ readonly item: T; readonly truth: CatalogChange | undefined }[]> {
    const { source } = this.#deps;
    const found = await this.#readable(
      items,
      (item) => ("encodedPath" in item ? item.encodedPath : item.path),
      (item, limited) => source.newest("encodedPath" in item ? item : item.path, limited),
      signal,
    );
    return found.map(({ item, answer }) => ({ item, truth: answer }));
  }

  /** Answers about those that can be read; the others are counted and left out. */
  async #readable<T, R>(
    items: readonly T[],
    nameOf: (item: T) => string,
    ask: (item: T, signal: AbortSignal) => Promise<R>,
    signal: AbortSignal,
  ): Promise<{ readonly item: T; readonly answer: R }[]> {
    const answers = await eachOf(items, this.#options.concurrency, signal, async (item, limited) => {
      try {
        return [{ item, answer: await ask(item, limited) }];
      } catch (error) {
        if (!CodedError.is(error, "corrupt") && !CodedError.is(error, "artifact_missing")) throw error;
        this.#counts.damaged++;
        this.#deps.logger.error("a repository cannot be compared: its newest record is damaged", { repository: nameOf(item), error });
        return [];
      }
    });
    return answers.flat();
  }

  async #repair(repairs: readonly Repair[], signal: AbortSignal): Promise<void> {
    if (repairs.length === 0) return;
    const { dryRun } = this.#options;
    const written = dryRun ? undefined : await writeRepairs(this.#deps.database, repairs, signal);
    for (const { kind, row } of repairs) this.#counts[!written || written.has(row.path) ? kind : "overtaken"]++;
    if (written)
      await this.#settle(new Set(repairs.filter((one) => written.has(one.row.path) && goesBack(one)).map(({ row }) => row.path)), signal);
  }

  /** Until it was taken back, a row refused what nodes noted: the store is asked once more what they may have noted in vain. */
  async #settle(paths: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    for (let round = 0, left = [...paths]; left.length > 0 && round < maxSettleRounds; round++) {
      const rows = await rowsOf(this.#deps.database, left, signal);
      const repairs = await this.#compared(rows, true, signal);
      left = repairs.map(({ row }) => row.path);
      if (left.length > 0) await writeRepairs(this.#deps.database, repairs, signal);
    }
  }

  async #pageDone(looks: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#deps.onPage?.(this.#counts);
    this.#looks += looks;
    const earliestMs = this.#startedMs + (this.#looks / this.#options.maxPerSecond) * 1000;
    const waitMs = earliestMs - this.#deps.clock.monotonic();
    if (waitMs > 0) await this.#deps.clock.sleep(waitMs, signal);
  }
}

/** Somebody may have written anything into the table. */
function mayBeGeneration(n: number): boolean {
  return n >= 0 && Number.isSafeInteger(n + 1);
}
