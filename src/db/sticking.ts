import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { type Clock, CodedError } from "../base/index.ts";

/** Whose reads must see whose writes: a namespace and an id, `["user", 42]`. With `hashId` only a digest of the id is kept. */
export type StickKey =
  | readonly [namespace: string, id: string | number]
  | { readonly namespace: string; readonly id: string | number; readonly hashId?: boolean };

/** Remembers for a while which keys have written. */
export interface StickingStore {
  /** Whether reads under any of `keys` must still go to the primary. */
  isStuck(keys: readonly string[]): Promise<boolean>;
  /** Called when a write under `keys` is done, or may be. */
  stick(keys: readonly string[]): Promise<void>;
}

/** How long and how many. */
export interface MemoryStickingOptions {
  /** A key sticks to the primary for this long after its newest write. Default 30000 ms. */
  readonly expirationMs: number;
  /** Keys kept; the least recently used go first. Default 100000. */
  readonly maxKeys: number;
}

export const defaultMemoryStickingOptions: MemoryStickingOptions = { expirationMs: 30_000, maxKeys: 100_000 };

/** Sticking within this process. */
export class MemoryStickingStore implements StickingStore {
  readonly #options: MemoryStickingOptions;
  readonly #clock: Clock;
  readonly #until: LRUCache<string, number>;

  constructor(options: MemoryStickingOptions, deps: { clock: Clock }) {
    this.#options = options;
    this.#clock = deps.clock;
    this.#until = new LRUCache({ max: options.maxKeys });
  }

  async isStuck(keys: readonly string[]): Promise<boolean> {
    const now = this.#clock.monotonic();
    return keys.some((key) => (this.#until.get(key) ?? Number.NEGATIVE_INFINITY) > now);
  }

  async stick(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#until.set(key, this.#clock.monotonic() + this.#options.expirationMs);
  }
}

const maxKeys = 1000;

/** The store's names for `keys`. Errors: `invalid_argument`. */
export function stickingKeys(keys: readonly StickKey[]): string[] {
  if (keys.length > maxKeys) throw new CodedError("invalid_argument", "too many sticking keys", { keys: keys.length, maxKeys });
  return keys.map((key) => {
    const { namespace, id, hashId = false } = "namespace" in key ? key : { namespace: key[0], id: key[1] };
    const text = String(id);
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(namespace) || text === "" || text.length > 1024) {
      throw new CodedError("invalid_argument", "a sticking key is a short namespace and a non-empty id", {
        namespace: namespace.slice(0, 64),
      });
    }
    return `${namespace}/${hashId ? createHash("sha256").update(text).digest("hex") : text}`;
  });
}
