import { type ByteString, CodedError, linkSignals } from "../base/index.ts";
import type { RepositorySnapshot } from "../git/index.ts";
import type { Artifact, Generation, ObjectFormat, RefTable } from "../storage/index.ts";
import type { ArtifactCache } from "./artifact-cache.ts";
import type { CacheMetrics } from "./cache-metrics.ts";
import { buildGitDir, buildObjectDir, isWholeGitDir, isWholeObjectDir, packArtifacts } from "./hydrate.ts";
import type { PinnedDir, PinnedDirs } from "./pinned-dirs.ts";
import type { RepositoryLease } from "./repository-cache.ts";

export interface LeaseOptions {
  readonly generation: Generation;
  readonly refs: RefTable;
  readonly packsKey: string;
  readonly refsKey: string;
  /** Aborts when the cache closes. */
  readonly stopped: AbortSignal;
}

export interface LeaseDeps {
  readonly artifacts: ArtifactCache;
  readonly objectDirs: PinnedDirs;
  readonly gitDirs: PinnedDirs;
  readonly metrics: CacheMetrics;
  /** The error to throw where the store lacks an artifact. */
  readonly onMissing: (error: CodedError, signal: AbortSignal) => Promise<CodedError>;
}

/** A pin on one git directory and one object directory. Refs need no directory, so a lease is there before any pack is. */
export class Lease implements RepositoryLease {
  readonly generation: Generation;
  readonly refs: RefTable;
  readonly #options: LeaseOptions;
  readonly #deps: LeaseDeps;
  #objects: PinnedDir;
  #git: PinnedDir;
  /** Taken out of use since, but a child of this call may still read them. */
  readonly #former: { pool: PinnedDirs; dir: PinnedDir }[] = [];
  #checked = false;
  #released = false;

  constructor(options: LeaseOptions, deps: LeaseDeps) {
    this.generation = options.generation;
    this.refs = options.refs;
    this.#options = options;
    this.#deps = deps;
    this.#objects = this.#pinObjects();
    this.#git = this.#pinGit();
  }

  get objectFormat(): ObjectFormat {
    return this.generation.objectFormat;
  }

  get head(): ByteString {
    return this.generation.head;
  }

  async snapshot(signal: AbortSignal): Promise<RepositorySnapshot> {
    if (this.#released) throw new CodedError("internal", "snapshot of a lease that was given back");
    using linked = linkSignals(signal, this.#options.stopped);
    try {
      const [gitDir, objectDir] = await Promise.all([this.#gitDir(linked.signal), this.#objectDir(linked.signal)]);
      return { gitDir, objectDir };
    } catch (error) {
      throw CodedError.is(error, "artifact_missing") ? await this.#deps.onMissing(error, linked.signal) : error;
    }
  }

  /** Takes directories that lack something out of use for everyone who comes later. Returns how many did. */
  async retireBrokenDirs(): Promise<number> {
    const [git, objects] = [this.#git, this.#objects];
    const gitBroken = git.path !== undefined && !(await isWholeGitDir(git.path));
    const objectsBroken = objects.path !== undefined && !(await isWholeObjectDir(objects.path, this.generation));
    if (gitBroken) this.#deps.gitDirs.retire(git);
    if (objectsBroken) this.#deps.objectDirs.retire(objects);
    return Number(gitBroken) + Number(objectsBroken);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    this.#deps.objectDirs.unpin(this.#objects);
    this.#deps.gitDirs.unpin(this.#git);
    for (const { pool, dir } of this.#former) pool.unpin(dir);
    this.#deps.artifacts.trim();
  }

  #pinObjects(): PinnedDir {
    return this.#deps.objectDirs.pin(this.generation.repoId, this.generation.n, this.#options.packsKey);
  }

  #pinGit(): PinnedDir {
    return this.#deps.gitDirs.pin(this.generation.repoId, this.generation.n, this.#options.refsKey);
  }

  async #gitDir(signal: AbortSignal): Promise<string> {
    if (this.#git.retired) {
      this.#former.push({ pool: this.#deps.gitDirs, dir: this.#git });
      this.#git = this.#pinGit();
    }
    const { objectFormat, head } = this.generation;
    return this.#deps.gitDirs.ready(this.#git, signal, (into) => buildGitDir(into, objectFormat, head, this.refs));
  }

  async #objectDir(signal: AbortSignal): Promise<string> {
    await this.#recheck(signal);
    if (this.#released) throw new CodedError("cancelled", "the lease was given back while its snapshot was made");
    if (this.#objects.retired) {
      this.#former.push({ pool: this.#deps.objectDirs, dir: this.#objects });
      this.#objects = this.#pinObjects();
    }
    const dir = this.#objects;
    if (dir.path !== undefined) {
      if (!this.#checked) this.#deps.metrics.hits.add();
      this.#checked = true;
      return dir.path;
    }
    let fetched = false;
    const fileOf = async (artifact: Artifact, fileSignal: AbortSignal) => {
      const file = await this.#deps.artifacts.ensure(this.generation, artifact, dir, fileSignal);
      fetched ||= file.fetched;
      return file.path;
    };
    const path = await this.#deps.objectDirs.ready(dir, signal, (into, ownSignal) =>
      buildObjectDir(into, this.generation, fileOf, ownSignal),
    );
    this.#deps.metrics[fetched ? "misses" : "hits"].add();
    this.#checked = true;
    return path;
  }

  /** A directory that is there already is only as good as its files are now: one look for each lease. */
  async #recheck(signal: AbortSignal): Promise<void> {
    if (this.#checked || this.#objects.retired || this.#objects.path === undefined) return;
    const artifacts = packArtifacts(this.generation);
    if (await this.#deps.artifacts.unchanged(artifacts)) return;
    await this.#deps.artifacts.verify(artifacts, false, signal);
  }
}
