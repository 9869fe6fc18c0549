import { LRUCache } from "lru-cache";
import type { Clock } from "../../base/index.ts";
import { formatPosition, greater, type Position } from "../position/position.ts";
import type { StickingStore } from "./sticking-store.ts";

/** How long and how many. */
export interface MemoryStickingOptions {
  /** A key is forgotten this long after its newest write. Default 30000 ms. */
  readonly expirationMs: number;
  /** Keys kept; the least recently used go first. Default 100000. */
  readonly maxKeys: number;
}

const defaultMemoryStickingOptions: MemoryStickingOptions = { expirationMs: 30_000, maxKeys: 100_000 };

/** Sticking within this process. */
export class MemoryStickingStore implements StickingStore {
  readonly #options: MemoryStickingOptions;
  readonly #clock: Clock;
  readonly #entries: LRUCache<string, { readonly position: Position; readonly untilMs: number }>;

  constructor(options: Partial<MemoryStickingOptions>, deps: { readonly clock: Clock }) {
    this.#options = { ...defaultMemoryStickingOptions, ...options };
    this.#clock = deps.clock;
    this.#entries = new LRUCache({ max: this.#options.maxKeys });
  }

  async read(keys: readonly string[]): Promise<readonly (Position | undefined)[]> {
    return keys.map((key) => this.#current(key));
  }

  async write(keys: readonly string[], position: Position): Promise<void> {
    const untilMs = this.#clock.monotonic() + this.#options.expirationMs;
    for (const key of keys) {
      const stored = this.#current(key);
      this.#entries.set(key, { position: stored ? greater(stored, position) : position, untilMs });
    }
  }

  async release(key: string, seen: Position): Promise<void> {
    const stored = this.#current(key);
    if (stored && formatPosition(stored) === formatPosition(seen)) this.#entries.delete(key);
  }

  #current(key: string): Position | undefined {
    const entry = this.#entries.get(key);
    return entry && entry.untilMs > this.#clock.monotonic() ? entry.position : undefined;
  }
}
