import { type Clock, CodedError, type Random } from "../base/index.ts";
import type { Generation } from "./generation.ts";
import { brokenChain, type GenerationReader } from "./generation-reader.ts";
import { encodeRepositoryPath, slotKey } from "./keys.ts";
import type { ObjectStore } from "./object-store.ts";

const firstPauseMs = 50;
const longestPauseMs = 1000;

export interface SlotDeps {
  readonly store: ObjectStore;
  readonly reader: GenerationReader;
  readonly clock: Clock;
  readonly random: Random;
}

/** A record ready for its slot. */
export interface SlotRecord {
  readonly bytes: Uint8Array;
  readonly generation: Generation;
}

/**
 * What became of a record: `won` and `lost` (with whose record it is) are final; `refused` means that nothing of it is or will be in the
 * store; `unresolved` means that the signal aborted first, and that the record may be there or still land.
 */
export type SlotOutcome =
  | { readonly outcome: "won" }
  | { readonly outcome: "lost"; readonly record: Generation }
  | { readonly outcome: "refused"; readonly error: unknown }
  | { readonly outcome: "unresolved"; readonly error: unknown };

/**
 * Tries to put a record into its slot until the slot's owner is known. Whatever the store answers but "created" is settled by reading the
 * slot: it may hold this very record, written by an attempt whose answer was lost. While the slot is empty the same bytes are sent again,
 * to the same slot. Never rejects.
 */
export async function fillSlot(deps: SlotDeps, record: SlotRecord, signal: AbortSignal): Promise<SlotOutcome> {
  const { path, n, txid } = record.generation;
  const key = slotKey(encodeRepositoryPath(path), n);
  let sent = false;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      const result = await deps.store.createIfAbsent(key, record.bytes, signal);
      if (result.outcome === "created") return { outcome: "won" };
      sent = true;
    } catch (error) {
      if (!sent) return { outcome: "refused", error };
    }
    const found = await readSlot(deps, path, n, signal);
    if ("failed" in found) return { outcome: "unresolved", error: found.failed };
    if (found.record?.txid === txid) return { outcome: "won" };
    if (found.record && found.record.parentDigest !== record.generation.parentDigest)
      return { outcome: "refused", error: brokenChain(path, n) };
    if (found.record) return { outcome: "lost", record: found.record };
    try {
      await deps.clock.sleep(pauseMs * (0.5 + deps.random.float()), signal);
    } catch (error) {
      return { outcome: "unresolved", error };
    }
  }
}

/** Reads the slot until it gets an answer or the signal aborts. */
async function readSlot(
  deps: SlotDeps,
  path: string,
  n: number,
  signal: AbortSignal,
): Promise<{ record: Generation | undefined } | { failed: unknown }> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return { record: await deps.reader.slot(path, n, signal) };
    } catch (error) {
      if (signal.aborted || !CodedError.is(error, "store_unavailable")) return { failed: error };
    }
    try {
      await deps.clock.sleep(pauseMs * (0.5 + deps.random.float()), signal);
    } catch (error) {
      return { failed: error };
    }
  }
}
