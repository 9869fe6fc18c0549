import {
  abortable,
  type Clock,
  CodedError,
  errnoOf,
  neverAborted,
  type Random,
  sharedAbortController,
  startDeadline,
} from "../../base/index.ts";
import type { LoadBalancer } from "../../db/index.ts";
import type { Counter, Logger, Metrics } from "../../observability/index.ts";
import { type Deferred, deferred } from "../deferred.ts";
import { claimMark, endMark, type Holder, type ReconcileMark, readMark, renewMark } from "./mark.ts";
import { type ReconcileCounts, reconcile } from "./reconcile.ts";
import type { RepositorySource } from "./repository-source.ts";

/** The comparison in the background: one node at a time, whichever comes first. */
export interface ReconcilerOptions {
  /** Name of this node. */
  readonly node: string;
  /** Of the store's cluster: a catalog of another one is left alone. */
  readonly clusterId: string;
  /** The catalog is compared when the last time is longer ago. */
  readonly intervalMs: number;
  /** How often a node looks whether it is time, give or take a half. Default 30000 ms. */
  readonly lookIntervalMs: number;
  /** A node that shows no sign of life is given up after this. Default 60000 ms. */
  readonly leaseMs: number;
  /** Repositories per second, except for a catalog that was never whole. Default 100. */
  readonly maxPerSecond: number;
  /** Questions to the store at a time. Default 4. */
  readonly concurrency: number;
}

const defaultReconcilerOptions: Omit<ReconcilerOptions, "node" | "clusterId" | "intervalMs"> = {
  lookIntervalMs: 30_000,
  leaseMs: 60_000,
  maxPerSecond: 100,
  concurrency: 4,
};

export interface ReconcilerDeps {
  readonly database: LoadBalancer;
  readonly source: RepositorySource;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Several reasons to look come together. */
const gatherMs = 2000;
const firstRetryMs = 500;
const endTimeoutMs = 2000;
/** The catalog, which sees to the tables, has not made them yet. */
const undefinedTable = "42P01";
/** Between two signs of life, so that a page is never long. */
const pageSize = 100;
const results = ["added", "noted", "corrected", "removed", "overtaken", "damaged"] as const;

/** Keeps the catalog whole: what a node that was killed had not written is found in the store. */
export class Reconciler implements AsyncDisposable {
  readonly #options: ReconcilerOptions;
  readonly #deps: ReconcilerDeps;
  readonly #repairs: Counter;
  readonly #stop = sharedAbortController();
  readonly #loop: Promise<void>;
  #wake: Deferred = deferred();
  /** On the monotonic clock: repositories may have been changed before this without a note. */
  #askedAtMs: number;
  #finishedAtMs: number | undefined;
  /** What was said already, so that it is not said every time. */
  #said = "";

  constructor(options: Partial<ReconcilerOptions> & Pick<ReconcilerOptions, "node" | "clusterId" | "intervalMs">, deps: ReconcilerDeps) {
    this.#options = { ...defaultReconcilerOptions, ...options };
    this.#deps = deps;
    // Nobody knows what this node had noted when it ended last.
    this.#askedAtMs = deps.clock.monotonic();
    this.#repairs = deps.metrics.counter(
      "gitaly_cluster_catalog_reconciled_total",
      "Rows that differed from the object store, by what became of them",
      ["result"],
    );
    deps.metrics.gauge(
      "gitaly_cluster_catalog_reconcile_age_seconds",
      "Time since all rows were last compared with the object store, by whichever node; NaN: not known",
      [],
      (gauge) => gauge.set(this.#finishedAtMs === undefined ? Number.NaN : (deps.clock.monotonic() - this.#finishedAtMs) / 1000),
    );
    this.#loop = this.#run(this.#stop.signal);
  }

  /** Repositories may have been changed without a note: compares soon. */
  ask(): void {
    this.#askedAtMs = this.#deps.clock.monotonic();
    this.#wake.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new CodedError("node_unavailable", "the node stops"));
    await this.#loop;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#deps;
    const { lookIntervalMs } = this.#options;
    for (let waitMs = gatherMs, failures = 0; ; ) {
      await this.#pause(waitMs * (0.5 + random.float()), signal);
      if (signal.aborted) return;
      try {
        await this.#look(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (CodedError.is(error, "conflict") || errnoOf(error) === undefinedTable)
          logger.debug("the catalog is not compared now", { error });
        else this.#say("the catalog could not be compared with the object store; it is tried again", { error });
        // While the database was away, so many changes may have waited that some were dropped.
        if (!CodedError.is(error, "conflict")) this.#askedAtMs = clock.monotonic();
        failures++;
      }
      waitMs = failures === 0 ? lookIntervalMs : Math.min(lookIntervalMs, firstRetryMs * 2 ** Math.min(failures, 16));
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { database, clock } = this.#deps;
    const { clusterId, node, leaseMs } = this.#options;
    const mark = await readMark(database, signal);
    if (mark && mark.clusterId !== clusterId) {
      this.#say("the database lists the repositories of another cluster and is not compared; see gitaly catalog rebuild", {
        theirs: mark.clusterId,
        ours: clusterId,
      });
      return;
    }
    const nowMs = clock.monotonic();
    if (mark?.finishedAgeMs !== undefined) this.#finishedAtMs = nowMs - mark.finishedAgeMs;
    if (mark && !isDue(mark, this.#options, nowMs - this.#askedAtMs)) return;
    const by: Holder = { clusterId, holder: node, leaseMs };
    if (await claimMark(database, by, signal)) await this.#compare(by, mark?.finishedAgeMs === undefined || mark.empty, signal);
  }

  async #compare(by: Holder, atOnce: boolean, signal: AbortSignal): Promise<void> {
    const { database, clock, logger } = this.#deps;
    const { concurrency, maxPerSecond } = this.#options;
    let counts: ReconcileCounts | undefined;
    let whole = false;
    const onPage = async (sofar: ReconcileCounts) => {
      counts = sofar;
      if (!(await renewMark(database, by, signal))) throw new CodedError("conflict", "somebody else compares the catalog");
    };
    const pace = atOnce ? {} : { concurrency, maxPerSecond };
    try {
      await reconcile({ thorough: false, pageSize, ...pace }, { ...this.#deps, onPage }, signal);
      whole = true;
      this.#finishedAtMs = clock.monotonic();
      this.#said = "";
    } finally {
      const differences = results.flatMap((result) => (counts && counts[result] > 0 ? [{ result, count: counts[result] }] : []));
      for (const { result, count } of differences) this.#repairs.add(count, { result });
      if (differences.length > 0) logger.info("the catalog differed from the object store", { ...counts, whole });
      using deadline = startDeadline(clock, endTimeoutMs, neverAborted);
      await endMark(database, by.holder, whole, deadline.signal).catch((error) => logger.debug("the end was not noted", { error }));
    }
  }

  /** Ends early where somebody asks. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    using patience = startDeadline(clock, ms, signal);
    const asked = await abortable(this.#wake.promise, patience.signal).then(
      () => true,
      () => false,
    );
    if (asked) await clock.sleep(gatherMs * (0.5 + random.float()), signal).catch(() => {});
    this.#wake = deferred();
  }

  #say(message: string, fields: Readonly<Record<string, unknown>>): void {
    if (this.#said !== message) this.#deps.logger.warn(message, fields);
    this.#said = message;
  }
}

/** Whether it is time. `askedAgeMs` ago repositories may have been changed without a note. */
export function isDue(
  mark: ReconcileMark,
  { intervalMs, lookIntervalMs }: Pick<ReconcilerOptions, "intervalMs" | "lookIntervalMs">,
  askedAgeMs: number,
): boolean {
  if (mark.held) return false;
  if (mark.unfinished || mark.finishedAgeMs === undefined || mark.finishedAgeMs >= intervalMs) return true;
  // Rows may have been lost; or there is no repository, and that costs little to see.
  if (mark.empty && mark.finishedAgeMs >= lookIntervalMs) return true;
  // The run that ended well had begun before.
  return mark.startedAgeMs > askedAgeMs;
}
