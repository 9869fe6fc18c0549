import { type CatalogChange, supersedes } from "./statements.ts";

/** Changes that wait to be written: one per path, the newest. Bounded: a new path is refused when it is full. */
export class ChangeQueue {
  readonly #maxPaths: number;
  readonly #pending = new Map<string, CatalogChange>();

  constructor(maxPaths: number) {
    this.#maxPaths = maxPaths;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** Whether a change of this path waits. */
  has(path: string): boolean {
    return this.#pending.has(path);
  }

  /** False where the queue is full and the change is lost. */
  add(change: CatalogChange): boolean {
    const waiting = this.#pending.get(change.path);
    if (waiting && !supersedes(change, waiting)) return true;
    if (!waiting && this.#pending.size >= this.#maxPaths) return false;
    // A removal does not know when its repository was born.
    const createdAtMs = change.removed && waiting ? Math.max(waiting.createdAtMs, change.createdAtMs) : change.createdAtMs;
    this.#pending.set(change.path, { ...change, createdAtMs });
    return true;
  }

  /** The oldest waiting changes; they stay until `done`. */
  peek(count: number): CatalogChange[] {
    const batch: CatalogChange[] = [];
    for (const change of this.#pending.values()) {
      if (batch.length >= count) break;
      batch.push(change);
    }
    return batch;
  }

  /** Takes out what was written, unless something newer came meanwhile. */
  done(changes: readonly CatalogChange[]): void {
    for (const change of changes) {
      if (this.#pending.get(change.path) === change) this.#pending.delete(change.path);
    }
  }
}
