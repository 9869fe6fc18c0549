import { CodedError, type Random, randomHex } from "../base/index.ts";
import { clusterIdKey, idByteCount, isId } from "./keys.ts";
import type { ObjectStore } from "./object-store.ts";

/**
 * The id of the cluster that owns a store: 32 hex digits, recorded once; the first caller chooses it. The file of a directory store is
 * `<directory>/cluster-id`. Errors: `store_unavailable`, `corrupt`.
 */
export async function readOrCreateClusterId(store: ObjectStore, random: Random, signal: AbortSignal): Promise<string> {
  const found = await readClusterId(store, signal);
  if (found !== undefined) return found;
  const result = await store.createIfAbsent(clusterIdKey, Buffer.from(`${randomHex(random, idByteCount)}\n`), signal);
  // Whatever was answered: what stands there counts.
  const settled = await readClusterId(store, signal);
  if (settled !== undefined) return settled;
  const answer = result.outcome === "unknown" ? result.detail : result.outcome;
  throw new CodedError("store_unavailable", "the cluster id could not be recorded in the object store", { answer, transient: true });
}

/** The id, or undefined where none is recorded. Errors: as above. */
export async function readClusterId(store: ObjectStore, signal: AbortSignal): Promise<string | undefined> {
  const bytes = await store.get(clusterIdKey, 1024, signal);
  if (bytes === undefined) return undefined;
  const id = Buffer.from(bytes).toString("latin1").trimEnd();
  if (!isId(id)) throw new CodedError("corrupt", "the cluster id in the object store is damaged", { key: clusterIdKey });
  return id;
}
