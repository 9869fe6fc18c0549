import type { Position } from "../position/position.ts";

/**
 * Remembers for a while which log position readers with a key must see. Calls may reject when the store is not there; its
 * caller bounds the wait with `signal` and decides what then. What is written is forgotten after the store's expiry.
 */
export interface StickingStore {
  /** What each of `keys` must see, in their order. */
  read(keys: readonly string[], signal: AbortSignal): Promise<readonly (Position | undefined)[]>;
  /** Notes `position` for every key and starts its expiry anew. Where the greater position is there already, that one stays; atomic per key. */
  write(keys: readonly string[], position: Position, signal: AbortSignal): Promise<void>;
  /** Forgets `key`, unless it holds something else than `seen` by now. */
  release(key: string, seen: Position, signal: AbortSignal): Promise<void>;
}
