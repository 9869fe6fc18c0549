import { renameSync } from "node:fs";
import { mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, CodedError, errnoOf, Mutex, Semaphore, SingleFlight } from "../base/index.ts";
import type { Logger } from "../observability/index.ts";
import { type Artifact, type Generation, parseArtifactName, type RepositoryStorage } from "../storage/index.ts";
import { artifactDigest } from "./artifact-digest.ts";
import type { CacheMetrics } from "./cache-metrics.ts";
import { digestFile } from "./digest-file.ts";
import { diskFull, isDiskFull } from "./disk-full.ts";
import type { PinnedDir } from "./pinned-dirs.ts";
import { Running } from "./running.ts";
import type { Trash } from "./trash.ts";

export interface ArtifactCacheOptions {
  readonly dir: string;
  readonly maxBytes: number;
  readonly minFreeBytes: number;
  /** Downloads at one time. */
  readonly maxFills: number;
}

export interface ArtifactCacheDeps {
  readonly storage: Pick<RepositoryStorage, "fetchArtifact">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: CacheMetrics;
  readonly trash: Trash;
  /** Bytes that may still be written to the disk that holds `path`. */
  readonly freeBytes: (path: string) => Promise<number>;
  /** Takes a directory that links to a discarded artifact out of use. */
  readonly retire: (dir: PinnedDir) => void;
}

interface Entry {
  readonly name: string;
  readonly path: string;
  readonly sizeBytes: number;
  /** Of the file when its digest was last known to be right; undefined: not compared in this process. */
  trustedMtimeMs: number | undefined;
  checkedAtMs: number;
}

/** What became of a file that was looked at: it is right, it was fetched, or it is not there (any more). */
type Outcome = "kept" | "fetched" | "gone";

/**
 * For how long a digest is not computed again while the file's size and time of change are the same. The longer the larger the
 * file, so that whoever makes git fail on purpose gets a small part of a disk's and a processor's time.
 */
function recheckAfterMs(sizeBytes: number): number {
  return Math.max(10_000, sizeBytes / 2000);
}

/** The artifacts on local disk: each fetched once, trusted only when it matches its name, the least recently used given up first. */
export class ArtifactCache {
  readonly #options: ArtifactCacheOptions;
  readonly #deps: ArtifactCacheDeps;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  /** Artifact name -> directories that link to it or are about to. While one of them is pinned, the artifact stays. */
  readonly #users = new Map<string, Set<PinnedDir>>();
  readonly #used = new Map<PinnedDir, Set<string>>();
  /** One look, fill or check of an artifact at a time. */
  readonly #flights = new SingleFlight<Outcome>();
  readonly #running = new Running();
  readonly #fills: Semaphore;
  /** One at a time looks at the disk and evicts, else several would evict for the same shortage. */
  readonly #room = new Mutex();
  #sizeBytes = 0;
  /** Of downloads that are running. */
  #reservedBytes = 0;
  /** Their files. */
  readonly #incoming = new Set<string>();
  /** Of both, the part that lies in files which could not stay in any case. */
  #oversizeBytes = 0;

  constructor(options: ArtifactCacheOptions, deps: ArtifactCacheDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#fills = new Semaphore(options.maxFills);
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Finds what an earlier process left, oldest first. Their digests are compared at first use. */
  async load(): Promise<void> {
    const found: { entry: Entry; mtimeMs: number }[] = [];
    await mkdir(this.#options.dir, { recursive: true });
    for (const fan of await readdir(this.#options.dir)) {
      const names = await readdir(join(this.#options.dir, fan)).catch(() => undefined);
      if (names === undefined) this.#deps.trash.discard(join(this.#options.dir, fan));
      for (const name of names ?? []) {
        const path = join(this.#options.dir, fan, name);
        const stats = await stat(path).catch(() => undefined);
        if (!stats?.isFile() || parseArtifactName(name) === undefined || this.#pathOf(name) !== path) this.#deps.trash.discard(path);
        else found.push({ entry: newEntry(name, path, stats.size), mtimeMs: stats.mtimeMs });
      }
    }
    found.sort((a, b) => a.mtimeMs - b.mtimeMs);
    for (const { entry } of found) this.#insert(entry);
    this.trim();
  }

  /**
   * Makes the artifact's file ready for `user`, which must be pinned, and counts it as used now.
   *
   * @returns its path, and whether it had to be fetched.
   */
  async ensure(
    generation: Generation,
    artifact: Artifact,
    user: PinnedDir,
    signal: AbortSignal,
  ): Promise<{ path: string; fetched: boolean }> {
    const path = this.#pathOf(artifact.name);
    // Before anything is waited for, so that no one's need for room takes it away again.
    this.#hold(artifact.name, user);
    for (;;) {
      const outcome = await this.#alone(artifact.name, signal, async (ownSignal) => {
        if (await this.#isGood(artifact, ownSignal)) return "kept";
        await this.#fill(generation, artifact, path, ownSignal);
        return "fetched";
      });
      if (outcome === "gone") continue;
      this.#touch(artifact.name);
      return { path, fetched: outcome === "fetched" };
    }
  }

  /** Whether every file is there, with the size and time of change it had when its digest was right. Counts them as used now. */
  async unchanged(artifacts: readonly Artifact[]): Promise<boolean> {
    const results = await Promise.all(
      artifacts.map(async (artifact) => {
        const entry = this.#touch(artifact.name);
        const stats = entry && (await stat(entry.path).catch(() => undefined));
        return stats?.size === artifact.sizeBytes && stats.mtimeMs === entry?.trustedMtimeMs;
      }),
    );
    return !results.includes(false);
  }

  /**
   * Throws away the files that are not what their names say; returns how many were not. With `recompute`, also those are read
   * that look untouched.
   */
  async verify(artifacts: readonly Artifact[], recompute: boolean, signal: AbortSignal): Promise<number> {
    let damaged = 0;
    for (const artifact of artifacts) {
      const entry = this.#entries.get(artifact.name);
      if (!entry) continue;
      if (recompute && entry.checkedAtMs + recheckAfterMs(entry.sizeBytes) <= this.#deps.clock.monotonic())
        entry.trustedMtimeMs = undefined;
      const outcome = await this.#alone(artifact.name, signal, async (ownSignal) =>
        (await this.#isGood(artifact, ownSignal)) ? "kept" : "gone",
      );
      if (outcome !== "kept") damaged++;
    }
    return damaged;
  }

  /** Takes in a file that is known to match the artifact. `place` puts it at the path it is given. */
  async put(artifact: Artifact, place: (path: string) => Promise<void>, signal: AbortSignal): Promise<void> {
    const path = this.#pathOf(artifact.name);
    await this.#alone(artifact.name, signal, async (ownSignal) => {
      if (await this.#isGood(artifact, ownSignal)) return "kept";
      const incoming = this.#deps.trash.freshPath();
      await place(incoming);
      await this.#install(artifact, incoming, path);
      return "fetched";
    });
  }

  /** Forgets that a directory uses artifacts. */
  release(user: PinnedDir): void {
    for (const name of this.#used.get(user) ?? []) {
      const users = this.#users.get(name);
      users?.delete(user);
      if (users?.size === 0) this.#users.delete(name);
    }
    this.#used.delete(user);
  }

  /** Evicts until the bytes fit. What could never fit beside anything else goes first. */
  trim(): void {
    if (this.#sizeBytes <= this.#options.maxBytes) return;
    for (const entry of this.#entries.values()) if (entry.sizeBytes > this.#options.maxBytes && this.#isIdle(entry)) this.#evict(entry);
    this.#evictWhile(() => this.#sizeBytes - this.#oversizeBytes > this.#options.maxBytes);
  }

  /** Resolves when no file is being filled or read. */
  async settled(): Promise<void> {
    await this.#running.settled();
  }

  #alone(name: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<Outcome>): Promise<Outcome> {
    return this.#flights.run(name, signal, (ownSignal) => this.#running.track(work(ownSignal)));
  }

  #pathOf(name: string): string {
    return join(this.#options.dir, artifactDigest(name).slice(0, 2), name);
  }

  #hold(name: string, user: PinnedDir): void {
    mapOfSets(this.#users, name).add(user);
    mapOfSets(this.#used, user).add(name);
  }

  #touch(name: string): Entry | undefined {
    const entry = this.#entries.get(name);
    if (!entry) return undefined;
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    return entry;
  }

  #isIdle(entry: Entry): boolean {
    for (const user of this.#users.get(entry.name) ?? []) if (user.pins > 0) return false;
    return true;
  }

  /** Whether the file is there and right. A wrong one is thrown away. */
  async #isGood(artifact: Artifact, signal: AbortSignal): Promise<boolean> {
    const entry = this.#entries.get(artifact.name);
    if (!entry) return false;
    const stats = await stat(entry.path).catch((error: unknown) => {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    });
    if (stats?.size === artifact.sizeBytes) {
      if (stats.mtimeMs === entry.trustedMtimeMs) return true;
      const digest = await digestFile(entry.path, signal);
      if (digest === artifactDigest(artifact.name)) {
        entry.trustedMtimeMs = stats.mtimeMs;
        entry.checkedAtMs = this.#deps.clock.monotonic();
        return true;
      }
    }
    this.#damaged(entry);
    return false;
  }

  #damaged(entry: Entry): void {
    if (this.#entries.get(entry.name) !== entry) return;
    this.#deps.metrics.damaged.add();
    this.#deps.logger.warn("cached artifact is damaged and is thrown away", { artifact: entry.name });
    this.#remove(entry);
  }

  async #fill(generation: Generation, artifact: Artifact, path: string, signal: AbortSignal): Promise<void> {
    const { clock, metrics, storage, trash } = this.#deps;
    using _place = await this.#fills.acquire(signal);
    const incoming = trash.freshPath();
    const startedMs = clock.monotonic();
    metrics.fillsInFlight.add(1);
    this.#reserve(artifact.sizeBytes, 1);
    this.#incoming.add(incoming);
    try {
      await this.#room.run(() => this.#makeRoom(artifact), signal);
      try {
        await storage.fetchArtifact(generation, artifact, incoming, signal);
      } catch (error) {
        if (!isDiskFull(error)) throw error;
        // Whether or not this evicts anything: another one may just have done so.
        await this.#room.run(() => this.#freeDisk(artifact.sizeBytes + this.#options.minFreeBytes), signal);
        await storage.fetchArtifact(generation, artifact, incoming, signal).catch((again: unknown) => {
          throw isDiskFull(again) ? diskFull({ neededBytes: artifact.sizeBytes }, again) : again;
        });
      }
      await this.#install(artifact, incoming, path);
      metrics.fillSeconds.observe((clock.monotonic() - startedMs) / 1000);
      metrics.fillBytes.add(artifact.sizeBytes);
    } catch (error) {
      trash.discard(incoming);
      throw error;
    } finally {
      this.#reserve(artifact.sizeBytes, -1);
      this.#incoming.delete(incoming);
      metrics.fillsInFlight.add(-1);
    }
  }

  /** Moves a file whose digest is right to its place. */
  async #install(artifact: Artifact, incoming: string, path: string): Promise<void> {
    const stats = await stat(incoming);
    if (stats.size !== artifact.sizeBytes) {
      this.#deps.trash.discard(incoming);
      throw new CodedError("corrupt", "artifact has another size than its manifest says", { artifact: artifact.name });
    }
    await mkdir(join(path, ".."), { recursive: true });
    // From here to the end without a pause: the map and the directory never differ for anyone.
    // A download whose callers have all gone may have ended beside the one that took its place.
    if (this.#entries.has(artifact.name)) return this.#deps.trash.discard(incoming);
    renameSync(incoming, path);
    const entry = newEntry(artifact.name, path, artifact.sizeBytes);
    entry.trustedMtimeMs = stats.mtimeMs;
    entry.checkedAtMs = this.#deps.clock.monotonic();
    this.#insert(entry);
  }

  /** Evicts what the limits ask for before `artifact` comes, its bytes being reserved already. */
  async #makeRoom(artifact: Artifact): Promise<void> {
    const { dir, maxBytes, minFreeBytes } = this.#options;
    // A file that fits under no circumstances is served and dropped; giving up everything else for it would gain nothing.
    if (artifact.sizeBytes <= maxBytes) this.#evictWhile(() => this.#sizeBytes + this.#reservedBytes - this.#oversizeBytes > maxBytes);
    for (;;) {
      // What running downloads have written is no longer free.
      const writtenBytes = await this.#writtenBytes();
      const short = minFreeBytes + this.#reservedBytes - writtenBytes - (await this.#deps.freeBytes(dir));
      if (short <= 0) return;
      if (!(await this.#freeDisk(short))) throw diskFull({ neededBytes: short });
    }
  }

  async #writtenBytes(): Promise<number> {
    const sizes = await Promise.all([...this.#incoming].map(async (path) => (await stat(path).catch(() => undefined))?.size ?? 0));
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Evicts at least `bytes`, or all that can be. Returns false where that is nothing. */
  async #freeDisk(bytes: number): Promise<boolean> {
    const target = this.#sizeBytes - bytes;
    const before = this.#sizeBytes;
    this.#evictWhile(() => this.#sizeBytes > target);
    await this.#deps.trash.settled();
    return this.#sizeBytes < before;
  }

  #evictWhile(needed: () => boolean): void {
    for (const entry of this.#entries.values()) {
      if (!needed()) return;
      if (this.#isIdle(entry)) this.#evict(entry);
    }
  }

  #evict(entry: Entry): void {
    this.#deps.metrics.evictions.add();
    this.#deps.metrics.evictedBytes.add(entry.sizeBytes);
    this.#remove(entry);
  }

  #reserve(sizeBytes: number, sign: 1 | -1): void {
    this.#reservedBytes += sign * sizeBytes;
    this.#countOversize(sizeBytes, sign);
  }

  #countOversize(sizeBytes: number, sign: 1 | -1): void {
    if (sizeBytes > this.#options.maxBytes) this.#oversizeBytes += sign * sizeBytes;
  }

  #insert(entry: Entry): void {
    this.#entries.set(entry.name, entry);
    this.#sizeBytes += entry.sizeBytes;
    this.#countOversize(entry.sizeBytes, 1);
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.name);
    this.#sizeBytes -= entry.sizeBytes;
    this.#countOversize(entry.sizeBytes, -1);
    // A directory that is still being built has not used the file yet: it will ask for it again.
    for (const user of [...(this.#users.get(entry.name) ?? [])]) if (user.path !== undefined) this.#deps.retire(user);
    this.#deps.trash.discard(entry.path);
  }
}

function newEntry(name: string, path: string, sizeBytes: number): Entry {
  return { name, path, sizeBytes, trustedMtimeMs: undefined, checkedAtMs: Number.NEGATIVE_INFINITY };
}

function mapOfSets<K, V>(map: Map<K, Set<V>>, key: K): Set<V> {
  let set = map.get(key);
  if (!set) {
    set = new Set();
    map.set(key, set);
  }
  return set;
}
