import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { type Random, randomHex, SingleFlight } from "../base/index.ts";
import { diskFull, isDiskFull } from "./disk-full.ts";
import { Running } from "./running.ts";
import type { Trash } from "./trash.ts";

/** A derived directory that is shared by the leases that pin it. Only its pool writes it. */
export interface PinnedDir {
  readonly repoId: string;
  readonly key: string;
  readonly serial: number;
  pins: number;
  /** Undefined until it is built. */
  path: string | undefined;
  /** Never handed out again; removed when the last pin goes. */
  retired: boolean;
}

interface RepositoryDirs {
  newestN: number;
  newestKey: string;
  readonly dirs: Set<PinnedDir>;
}

export interface PinnedDirsOptions {
  readonly dir: string;
  /** How many unpinned directories are kept. */
  readonly maxIdle: number;
}

export interface PinnedDirsDeps {
  readonly trash: Trash;
  readonly random: Random;
  /** Called when a directory is no longer there for anyone. */
  readonly onRemoved?: (dir: PinnedDir) => void;
}

/**
 * Directories that can be built again at any time, one per key. A directory gets a path of its own each time it is built and
 * never changes there. Pinned ones stay; of the others each repository keeps the one of its newest generation.
 */
export class PinnedDirs {
  readonly #options: PinnedDirsOptions;
  readonly #deps: PinnedDirsDeps;
  readonly #dirs = new Map<string, PinnedDir>();
  /** Unpinned ones, least recently used first. */
  readonly #idle = new Set<PinnedDir>();
  readonly #repositories = new Map<string, RepositoryDirs>();
  readonly #builds = new SingleFlight<string>();
  readonly #running = new Running();
  #nextSerial = 0;

  constructor(options: PinnedDirsOptions, deps: PinnedDirsDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Pins the directory for `key`, which generation `n` of the repository uses. */
  pin(repoId: string, n: number, key: string): PinnedDir {
    const id = `${repoId}.${key}`;
    let dir = this.#dirs.get(id);
    if (!dir) {
      dir = { repoId, key, serial: this.#nextSerial++, pins: 0, path: undefined, retired: false };
      this.#dirs.set(id, dir);
    }
    dir.pins++;
    this.#idle.delete(dir);
    this.#note(dir, n);
    return dir;
  }

  /** Takes one pin away. */
  unpin(dir: PinnedDir): void {
    dir.pins--;
    if (dir.pins > 0) return;
    const repository = this.#repositories.get(dir.repoId);
    if (dir.retired || dir.path === undefined || repository?.newestKey !== dir.key) this.#remove(dir);
    else {
      this.#idle.add(dir);
      this.#trimIdle();
    }
  }

  /**
   * The path of a pinned directory. `build` fills a new directory, once for all who wait; it is renamed into place when it
   * resolves. Errors: `limit_exceeded` where the disk is full; those of `build`.
   */
  async ready(dir: PinnedDir, signal: AbortSignal, build: (into: string, signal: AbortSignal) => Promise<void>): Promise<string> {
    if (dir.path !== undefined) return dir.path;
    return this.#builds.run(String(dir.serial), signal, (ownSignal) => this.#running.track(this.#build(dir, ownSignal, build)));
  }

  /** Resolves when nothing is being built. */
  async settled(): Promise<void> {
    await this.#running.settled();
  }

  /** Stops handing the directory out; it goes when its last pin does. */
  retire(dir: PinnedDir): void {
    if (dir.retired) return;
    dir.retired = true;
    this.#forget(dir);
    if (dir.pins === 0) this.#remove(dir);
  }

  async #build(dir: PinnedDir, signal: AbortSignal, build: (into: string, signal: AbortSignal) => Promise<void>): Promise<string> {
    // The builder's own pin: what it collects must stay even where the caller that began it is gone.
    dir.pins++;
    const into = this.#deps.trash.freshPath();
    try {
      await mkdir(into, { recursive: true });
      await build(into, signal);
      const path = join(this.#options.dir, `${dir.repoId}.${dir.key.slice(0, 32)}.${randomHex(this.#deps.random, 4)}`);
      await mkdir(this.#options.dir, { recursive: true });
      await rename(into, path);
      // A build whose callers have all gone may have ended beside the one that took its place.
      if (dir.path === undefined) dir.path = path;
      else this.#deps.trash.discard(path);
      return dir.path;
    } catch (error) {
      this.#deps.trash.discard(into);
      throw isDiskFull(error) ? diskFull({}, error) : error;
    } finally {
      this.unpin(dir);
    }
  }

  #note(dir: PinnedDir, n: number): void {
    let repository = this.#repositories.get(dir.repoId);
    if (!repository) {
      repository = { newestN: n, newestKey: dir.key, dirs: new Set() };
      this.#repositories.set(dir.repoId, repository);
    }
    repository.dirs.add(dir);
    if (n < repository.newestN) return;
    repository.newestN = n;
    repository.newestKey = dir.key;
    for (const other of repository.dirs) if (other.key !== dir.key && other.pins === 0) this.#remove(other);
  }

  #trimIdle(): void {
    for (const dir of this.#idle) {
      if (this.#idle.size <= this.#options.maxIdle) return;
      this.#remove(dir);
    }
  }

  #forget(dir: PinnedDir): void {
    const id = `${dir.repoId}.${dir.key}`;
    if (this.#dirs.get(id) === dir) this.#dirs.delete(id);
  }

  #remove(dir: PinnedDir): void {
    dir.retired = true;
    this.#forget(dir);
    this.#idle.delete(dir);
    const repository = this.#repositories.get(dir.repoId);
    repository?.dirs.delete(dir);
    if (repository?.dirs.size === 0) this.#repositories.delete(dir.repoId);
    if (dir.path !== undefined) this.#deps.trash.discard(dir.path);
    this.#deps.onRemoved?.(dir);
  }
}
