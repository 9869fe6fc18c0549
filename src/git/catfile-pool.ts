import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, CodedError, neverAborted, Semaphore, SingleFlight } from "../base/index.ts";
import type { Counter, Metrics } from "../observability/index.ts";
import { Catfile } from "./catfile.ts";
import type { ProcessGate } from "./process-gate.ts";
import type { RepositoryView } from "./repository-view.ts";

export interface CatfilePoolOptions {
  /** Processes at once; default 32. The one that rested longest makes room; where none rests, calls wait. */
  readonly maxProcesses: number;
  /** How long a process may rest before it is ended; default 30 s. */
  readonly idleMs: number;
  /** An empty directory for the skeleton repositories that the processes run in. */
  readonly dir: string;
}

export interface CatfilePoolDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly gate: ProcessGate;
}

/** Calls on other repositories that may wait until a process is free. */
const maxWaiting = 512;

interface Entry {
  readonly catfile: Catfile;
  readonly place: Disposable;
  users: number;
  idle: Disposable | undefined;
}

/**
 * `cat-file` processes that serve many calls, one for each object directory. They run in an empty repository, so that nothing but objects
 * has a name there: refs are resolved from the caller's view.
 */
export class CatfilePool implements AsyncDisposable {
  readonly #options: CatfilePoolOptions;
  readonly #deps: CatfilePoolDeps;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #starting = new SingleFlight<Entry>();
  readonly #ending = new Set<Promise<void>>();
  readonly #lookups: Counter;
  readonly #places: Semaphore;
  #waiting = 0;
  #closed = false;

  constructor(options: CatfilePoolOptions, deps: CatfilePoolDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#places = new Semaphore(options.maxProcesses, maxWaiting);
    this.#lookups = deps.metrics.counter("gitaly_catfile_cache_total", "Uses of pooled cat-file processes", ["type"]);
    deps.metrics.gauge("gitaly_catfile_cache_members", "Pooled cat-file processes", [], (gauge) => gauge.set(this.#entries.size));
  }

  /** Makes the skeleton repositories. */
  async prepare(): Promise<void> {
    for (const format of ["sha1", "sha256"] as const) {
      const dir = this.#skeleton(format);
      await mkdir(join(dir, "refs"), { recursive: true });
      await mkdir(join(dir, "objects"), { recursive: true });
      await writeFile(join(dir, "HEAD"), "ref: refs/heads/none\n");
      const extension = format === "sha256" ? "[extensions]\n\tobjectFormat = sha256\n" : "";
      await writeFile(
        join(dir, "config"),
        `[core]\n\trepositoryFormatVersion = ${format === "sha256" ? 1 : 0}\n\tbare = true\n${extension}`,
      );
    }
  }

  /** Lends the process of `view`'s object directory to `use`. A call that finds its process dead gets a new one, once. */
  async with<T>(view: RepositoryView, signal: AbortSignal, use: (catfile: Catfile) => Promise<T>): Promise<T> {
    const { objectDir } = await view.snapshot(signal);
    for (let attempt = 1; ; attempt++) {
      const entry = await this.#borrow(objectDir, view.objectFormat, signal);
      try {
        return await use(entry.catfile);
      } catch (error) {
        if (attempt === 2 || entry.catfile.usable || signal.aborted) throw error;
      } finally {
        this.#giveBack(objectDir, entry);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const key of [...this.#entries.keys()]) this.#drop(key);
    await Promise.all(this.#ending);
  }

  async #borrow(objectDir: string, format: RepositoryView["objectFormat"], signal: AbortSignal): Promise<Entry> {
    if (this.#closed) throw isClosed();
    let entry = this.#entries.get(objectDir);
    if (entry && !entry.catfile.usable) {
      this.#drop(objectDir);
      entry = undefined;
    }
    this.#lookups.add(1, { type: entry ? "hit" : "miss" });
    entry ??= await this.#starting.run(objectDir, signal, (ownSignal) => this.#start(objectDir, format, ownSignal));
    entry.users++;
    entry.idle?.[Symbol.dispose]();
    entry.idle = undefined;
    if (this.#entries.get(objectDir) === entry) {
      this.#entries.delete(objectDir);
      this.#entries.set(objectDir, entry);
    }
    return entry;
  }

  async #start(objectDir: string, format: RepositoryView["objectFormat"], signal: AbortSignal): Promise<Entry> {
    const place = await this.#place(signal);
    if (this.#closed) {
      place[Symbol.dispose]();
      throw isClosed();
    }
    const directories = { gitDir: this.#skeleton(format), objectDir };
    const catfile = await Catfile.start(this.#deps.gate, directories, neverAborted, { longLived: true }).catch((error: unknown) => {
      place[Symbol.dispose]();
      throw error;
    });
    const entry: Entry = { catfile, place, users: 0, idle: undefined };
    // One that was started for callers who left before it was there.
    this.#drop(objectDir);
    this.#entries.set(objectDir, entry);
    // It rests from the start: who asked for it may be gone.
    this.#rest(objectDir, entry);
    if (this.#closed) this.#drop(objectDir);
    return entry;
  }

  async #place(signal: AbortSignal): Promise<Disposable> {
    this.#waiting++;
    try {
      this.#makeRoom();
      return await this.#places.acquire(signal);
    } finally {
      this.#waiting--;
    }
  }

  /** Ends processes that rest, so that those who wait for a place get one. */
  #makeRoom(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#entries.size + this.#waiting <= this.#options.maxProcesses) return;
      if (entry.users === 0 && entry.idle) this.#drop(key);
    }
  }

  #giveBack(objectDir: string, entry: Entry): void {
    entry.users--;
    if (entry.users > 0) return;
    if (this.#entries.get(objectDir) !== entry) this.#end(entry);
    else if (!entry.catfile.usable) this.#drop(objectDir);
    else {
      this.#rest(objectDir, entry);
      this.#makeRoom();
    }
  }

  #rest(objectDir: string, entry: Entry): void {
    entry.idle = this.#deps.clock.timer(this.#options.idleMs, () => this.#drop(objectDir));
  }

  /** Takes a process out of the pool; one that is in use ends with its last user. */
  #drop(objectDir: string): void {
    const entry = this.#entries.get(objectDir);
    if (!entry) return;
    this.#entries.delete(objectDir);
    entry.idle?.[Symbol.dispose]();
    if (entry.users === 0 || this.#closed) this.#end(entry);
  }

  #end(entry: Entry): void {
    const ending = entry.catfile[Symbol.asyncDispose]();
    this.#ending.add(ending);
    void ending.finally(() => {
      this.#ending.delete(ending);
      entry.place[Symbol.dispose]();
    });
  }

  #skeleton(format: RepositoryView["objectFormat"]): string {
    return join(this.#options.dir, format);
  }
}

function isClosed(): CodedError {
  return new CodedError("git_failed", "git is closed");
}
