import {
  abortable,
  type Clock,
  CodedError,
  linkSignals,
  type Random,
  randomHex,
  sharedAbortController,
  startDeadline,
} from "../../base/index.ts";
import type { Counter, Logger, Metrics } from "../../observability/index.ts";
import { defaultPaceOptions, minGapMs, type PaceOptions, waitAfterAnswerMs, waitAfterFailureMs } from "./pace.ts";
import { sampleServers } from "./sampler.ts";
import { type ListEntry, listChanges, mergeAnswer } from "./server-list.ts";
import type { SnapshotStore } from "./snapshot-file.ts";
import { type DiscoveredServer, type DiscoveryAnswer, type DiscoverySource, serverKey, tidyServers } from "./source.ts";

/** How a source is asked, and what becomes of its answers. */
export interface DiscoveryLoopOptions extends PaceOptions {
  /** A lookup that takes longer has failed. Default 2000 ms. */
  readonly lookupTimeoutMs: number;
  /** While lookups fail, a list that is older than this is told of: as an error in the log, and by `stale`. Default: three intervals. */
  readonly maxAgeMs: number | undefined;
  /** As long as fewer other replicas are usable, a usable one is kept although discovery no longer names it. Default 1. */
  readonly minReplicas: number;
  /** Replicas that this process connects to at most, chosen at random but steadily. Default 256, which is also the most. */
  readonly maxReplicaPools: number;
  /** Used at start when there is neither an answer nor a kept list. Default none. */
  readonly seedHosts: readonly DiscoveredServer[];
}

export const defaultDiscoveryLoopOptions: DiscoveryLoopOptions = {
  ...defaultPaceOptions,
  lookupTimeoutMs: 2000,
  maxAgeMs: undefined,
  minReplicas: 1,
  maxReplicaPools: 256,
  seedHosts: [],
};

/** What the loop works with. */
export interface DiscoveryLoopDeps {
  readonly source: DiscoverySource;
  /** Receives the whole list whenever it may have changed. `fresh`: this process has it from the source. */
  readonly apply: (servers: readonly DiscoveredServer[], about: { readonly fresh: boolean }) => void;
  /** Whether the server HOST:PORT answers as a replica that may be used. */
  readonly isUsable: (key: string) => boolean;
  readonly snapshot: SnapshotStore | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

type LookupResult = "ok" | "empty" | "timeout" | "failed";

const maxServers = 256;
const alarmAfterIntervals = 3;
const watchdogMs = 5 * 60_000;
const refreshEveryMs = 5000;
const saveEveryMs = 60_000;
const nothingSaved = { content: "", atMs: 0 };

/**
 * Asks a source again and again, and hands on lists that only good answers can make shorter. Without answers the last list stays,
 * for as long as it takes. Requests never wait here.
 */
export class DiscoveryLoop implements AsyncDisposable {
  /** Resolves when the first list is handed on, or when there is none to be had for now. Never rejects. */
  readonly ready: Promise<void>;
  readonly #options: DiscoveryLoopOptions;
  readonly #deps: DiscoveryLoopDeps;
  readonly #lookups: Counter;
  readonly #stop = sharedAbortController();
  readonly #loop: Promise<void>;
  readonly #watching: Promise<void> | undefined;
  readonly #samplerSeed: string;
  #wake = sharedAbortController();
  #listed: readonly ListEntry[] = [];
  #applied: readonly DiscoveredServer[] = [];
  #excluded = "";
  #failures = 0;
  #alarmed = false;
  #saving: Promise<void> | undefined;
  #saved = nothingSaved;
  #running: { readonly sinceMs: number } | undefined;
  #lastStartMs = Number.NEGATIVE_INFINITY;
  #lastRefreshMs = Number.NEGATIVE_INFINITY;
  /** When the list was found, by the monotonic clock; before this process began where it comes from a snapshot. */
  #foundAtMs: number;

  constructor(options: DiscoveryLoopOptions, deps: DiscoveryLoopDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#samplerSeed = randomHex(deps.random, 8);
    this.#foundAtMs = deps.clock.monotonic();
    this.#lookups = deps.metrics.counter("dblb_discovery_lookups_total", "Questions for the list of database servers", [
      "source",
      "result",
    ]);
    deps.metrics.gauge("dblb_discovery_age_seconds", "Age of the list of database servers", ["source"], (gauge) =>
      gauge.set(this.ageMs / 1000, { source: deps.source.name }),
    );
    const { signal } = this.#stop;
    const booted = this.#boot(signal);
    this.ready = booted.then(
      () => {},
      () => {},
    );
    this.#loop = booted.then((waitMs) => this.#run(waitMs, signal)).catch(() => {});
    this.#watching = deps.source
      .watch?.(() => this.#wakeUp(), signal)
      .catch((error) => deps.logger.error("discovery is not told of changes any more", { source: deps.source.name, error }));
  }

  /** Whether what the source says of roles binds. */
  get authoritative(): boolean {
    return this.#deps.source.authoritative === true;
  }

  /** How old the list is. */
  get ageMs(): number {
    return this.#deps.clock.monotonic() - this.#foundAtMs;
  }

  /** Whether lookups fail, and the list has grown too old meanwhile. */
  get stale(): boolean {
    const { maxAgeMs, intervalMs } = this.#options;
    return this.#failures > 0 && this.ageMs >= (maxAgeMs ?? alarmAfterIntervals * intervalMs);
  }

  /** A server could not be reached, so the list may be out of date: asks early, though never more often than every five seconds. */
  refreshSoon(): void {
    const now = this.#deps.clock.monotonic();
    // While the source fails, its own pace holds: clients in trouble must not add to it.
    if (this.#failures > 0 || now - this.#lastRefreshMs < refreshEveryMs) return;
    this.#lastRefreshMs = now;
    this.#wakeUp();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    await this.#watching;
    await this.#saving;
  }

  #wakeUp(): void {
    this.#wake.abort();
  }

  /** The first list: from the source, else from the snapshot, else the seeds. Gives the wait until the next lookup. */
  async #boot(signal: AbortSignal): Promise<number> {
    const waitMs = await this.#turn(signal);
    if (this.#listed.length > 0 || signal.aborted) return waitMs;
    const kept = await this.#load();
    if (kept) {
      this.#foundAtMs = this.#deps.clock.monotonic() - kept.ageMs;
      this.#deps.logger.warn("the last known list of database servers is used", { event: "host_list_snapshot", ageMs: kept.ageMs });
    }
    const servers = kept?.servers ?? tidyServers(this.#options.seedHosts);
    this.#adopt(
      servers.map((server) => ({ server, missing: 0 })),
      { fresh: false },
    );
    return waitMs;
  }

  async #load() {
    try {
      return await this.#deps.snapshot?.load();
    } catch (error) {
      this.#deps.logger.warn("the kept list of database servers cannot be used", { event: "host_list_snapshot", error });
      return undefined;
    }
  }

  async #run(firstWaitMs: number, signal: AbortSignal): Promise<void> {
    let waitMs = firstWaitMs;
    for (;;) {
      await this.#wait(waitMs, signal);
      // Who stops must not ask once more on its way out.
      if (signal.aborted) return;
      waitMs = await this.#turn(signal);
    }
  }

  /** Until it is time, or somebody knows better; but never so short that two lookups start within a second. */
  async #wait(waitMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    using linked = linkSignals(signal, this.#wake.signal);
    const gapMs = () => this.#lastStartMs + minGapMs - clock.monotonic();
    await clock.sleep(Math.max(0, gapMs()) + waitMs, linked.signal).catch(() => {});
    if (gapMs() > 0) await clock.sleep(gapMs(), signal).catch(() => {});
  }

  /** One lookup and what follows from it; gives the wait until the next. */
  async #turn(signal: AbortSignal): Promise<number> {
    const { clock, random } = this.#deps;
    // What asks for a lookup from here on is not answered by this one.
    this.#wake = sharedAbortController();
    this.#lastStartMs = clock.monotonic();
    try {
      const { servers, ttlMs = 0 } = await this.#lookUp(signal);
      const answer = this.#bounded(tidyServers(servers));
      if (answer.length === 0) throw new CodedError("not_found", "discovery names no server");
      this.#onAnswer(answer);
      // Counted from its start, as the gap is that comes before every wait.
      return Math.max(0, waitAfterAnswerMs(ttlMs, this.#options, random) - minGapMs);
    } catch (error) {
      if (!signal.aborted) this.#onFailure(error);
      return waitAfterFailureMs(Math.max(1, this.#failures), this.#options, random);
    }
  }

  async #lookUp(signal: AbortSignal): Promise<DiscoveryAnswer> {
    const { clock, source, logger } = this.#deps;
    if (this.#running && clock.monotonic() - this.#running.sinceMs < watchdogMs) {
      throw new CodedError("deadline_exceeded", "the lookup before has not ended yet");
    }
    if (this.#running) {
      logger.error("a lookup does not end, and is not waited for any longer", { event: "service_discovery_refresh_thread_interrupt" });
    }
    using deadline = startDeadline(clock, this.#options.lookupTimeoutMs, signal);
    const running = { sinceMs: clock.monotonic() };
    this.#running = running;
    const ended = () => {
      if (this.#running === running) this.#running = undefined;
    };
    // The signal has told it to end, but a source may be deaf; two at once would make a bad day worse.
    const answer = source.lookup(deadline.signal);
    answer.then(ended, ended);
    return await abortable(answer, deadline.signal);
  }

  #bounded(servers: readonly DiscoveredServer[]): readonly DiscoveredServer[] {
    return servers.length <= maxServers ? servers : sampleServers(servers, maxServers, this.#samplerSeed).chosen.slice(0, maxServers);
  }

  #onAnswer(answer: readonly DiscoveredServer[]): void {
    const { source, clock, logger } = this.#deps;
    this.#lookups.add(1, { source: source.name, result: "ok" satisfies LookupResult });
    if (this.#failures > 0) logger.info("discovery answers again", { source: source.name, failures: this.#failures });
    this.#failures = 0;
    this.#alarmed = false;
    this.#foundAtMs = clock.monotonic();
    this.#adopt(mergeAnswer(this.#listed, answer, this.#options, this.#deps.isUsable), { fresh: true });
    this.#save();
  }

  #onFailure(error: unknown): void {
    const { source, logger } = this.#deps;
    const result = resultOf(error);
    this.#lookups.add(1, { source: source.name, result });
    const fields = { event: "service_discovery_failure", source: source.name, result, ageMs: this.ageMs, servers: this.#applied.length };
    if (this.#failures++ === 0) logger.warn("discovery fails; the last known list stays", { ...fields, error });
    else logger.debug("discovery still fails", { ...fields, error });
    if (this.#alarmed || !this.stale) return;
    this.#alarmed = true;
    logger.error("discovery has failed for too long; the list of database servers grows old", { ...fields, error });
  }

  #adopt(listed: readonly ListEntry[], about: { readonly fresh: boolean }): void {
    const { logger } = this.#deps;
    this.#listed = listed;
    const max = Math.min(this.#options.maxReplicaPools, maxServers);
    const { chosen, excluded } = sampleServers(
      listed.map((entry) => entry.server),
      max,
      this.#samplerSeed,
    );
    const names = excluded.map(serverKey).sort();
    if (names.length > 0 && names.join() !== this.#excluded)
      logger.warn("more replicas than this process may use", { event: "host_list_limit_exceeded", max, excluded: names });
    this.#excluded = names.join();
    const changes = listChanges(this.#applied, chosen);
    if (changes.added.length + changes.removed.length > 0) {
      const lengths = { host_list_length: chosen.length, old_host_list_length: this.#applied.length };
      logger.info("list of database servers changed", { event: "host_list_update", ...lengths, ...changes });
    }
    this.#applied = chosen;
    try {
      this.#deps.apply(chosen, about);
    } catch (error) {
      logger.error("the list of database servers cannot be used", { event: "host_list_update", error });
    }
  }

  /** When it has changed, or has been right for a minute more. In the background, one at a time: what is slow here is only older there. */
  #save(): void {
    const { snapshot, logger, clock } = this.#deps;
    const servers = this.#listed.map((entry) => entry.server);
    const content = JSON.stringify(servers);
    if (!snapshot || this.#saving || (content === this.#saved.content && clock.monotonic() - this.#saved.atMs < saveEveryMs)) return;
    this.#saved = { content, atMs: clock.monotonic() };
    this.#saving = snapshot
      .save(servers)
      .catch((error) => {
        this.#saved = nothingSaved;
        logger.warn("the list of database servers cannot be kept", { event: "host_list_snapshot", error });
      })
      .finally(() => {
        this.#saving = undefined;
      });
  }
}

function resultOf(error: unknown): LookupResult {
  if (CodedError.is(error, "deadline_exceeded")) return "timeout";
  return CodedError.is(error, "not_found") ? "empty" : "failed";
}
