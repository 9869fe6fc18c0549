import { CodedError } from "../base/index.ts";

/** Bytes in memory, or a local file whose size the caller knows. The file must not change until the call ends. */
export type PutBody = Uint8Array | { readonly file: string; readonly sizeBytes: number };

/**
 * What became of a create-only write.
 *
 * - `created`: this call made the object; it is durable.
 * - `occupied`: an object was there. It may be this caller's own, written by an earlier attempt.
 * - `unknown`: the object may exist now, may appear later, or never. `detail` says what the store answered (for people);
 *   `refused` is true where the store gave a definite no (for example 403 or 501) rather than no usable answer.
 */
export type CreateResult =
  | { readonly outcome: "created" }
  | { readonly outcome: "occupied" }
  | { readonly outcome: "unknown"; readonly detail: string; readonly refused: boolean };

/** An open object. Whoever opened it disposes it; leaving it unread without that holds a connection. */
export interface ObjectStream extends AsyncDisposable {
  /** What the store announced; a body may still end early. */
  readonly sizeBytes: number;
  /** Can be consumed once. Throws `store_unavailable` when the transfer breaks. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface ListedObject {
  readonly key: string;
  readonly sizeBytes: number;
  readonly lastModifiedMs: number;
}

export interface ListRequest {
  /** Only keys that start with it; may end inside a segment. */
  readonly prefix: string;
  /** Only keys greater than it, byte by byte. */
  readonly startAfter?: string;
  /** Most entries (objects plus prefixes) in the answer: 1 to 1000, default 1000. */
  readonly maxKeys?: number;
  /** "/": keys with a further slash after `prefix` are folded into one entry of `prefixes` each. */
  readonly delimiter?: "/";
}

export interface ListPage {
  /** In byte order. */
  readonly objects: readonly ListedObject[];
  /** In byte order, each ending in the delimiter. Listed where any key below is greater than `startAfter`. */
  readonly prefixes: readonly string[];
  /** The `startAfter` of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/**
 * The seam to durable storage. One flat space of immutable-in-practice objects, strongly consistent: a read or list that is sent after a
 * write was answered sees it.
 *
 * **Keys** are segments joined by `/`, of `A-Z a-z 0-9 . _ % -`; a segment is 1 to 255 characters and does not start with a dot, a key has at most
 * 900. Anything else is `invalid_argument`. No key is at the same time a directory of another (`a` and `a/b`).
 *
 * **Absent** (an undefined answer) means exactly that the store said this key does not exist. A missing bucket or directory, a refusal,
 * a proxy's answer, a broken connection: all are `store_unavailable`, never "absent".
 *
 * **Signals.** Every call ends soon after its signal aborts, with the signal's reason, and holds nothing afterwards.
 *
 * **Errors.** `store_unavailable` (with `fields.transient` where the same call may succeed soon, `fields.refused` where the store does
 * not let this process do it, and `fields.answer` for what it said), `limit_exceeded` (the store is full, or
 * the object is larger than the caller allows), `invalid_argument`.
 */
export interface ObjectStore extends AsyncDisposable {
  /** Where the store is, without credentials; for people and logs. */
  readonly description: string;

  /** Why the last request failed; "" after one that was answered, whatever the answer. For people; no rule reads it. */
  readonly trouble?: string;

  /** The whole object. Errors: `limit_exceeded` where it is larger than `maxBytes`; nothing beyond that is buffered. */
  get(key: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | undefined>;

  /** The object as a stream. `signal` also ends the stream. */
  open(key: string, signal: AbortSignal): Promise<ObjectStream | undefined>;

  /** Writes or overwrites; durable once resolved. After a rejection the old object, the new one or (if there was none) nothing is there, never a part. */
  put(key: string, body: PutBody, signal: AbortSignal): Promise<void>;

  /**
   * Writes only where nothing is, atomically: of all calls for one key, at any time and from anywhere, at most one is ever applied.
   * Makes one attempt. Resolves `unknown` for everything unsure, also when the signal aborts after the request was sent; a rejection
   * means that nothing was applied and nothing will be.
   */
  createIfAbsent(key: string, body: Uint8Array, signal: AbortSignal): Promise<CreateResult>;

  /** One page of keys, in byte order. */
  list(request: ListRequest, signal: AbortSignal): Promise<ListPage>;

  /** Removes the object; fine where there is none. */
  delete(key: string, signal: AbortSignal): Promise<void>;
}

const keyPattern = /^[A-Za-z0-9_%-][A-Za-z0-9._%-]{0,254}(?:\/[A-Za-z0-9_%-][A-Za-z0-9._%-]{0,254})*$/;
const prefixPattern = /^[A-Za-z0-9._%/-]*$/;
const maxKeyLength = 900;

/** Throws `invalid_argument` for a key that breaks the rules of `ObjectStore`. */
export function checkStoreKey(key: string): void {
  if (key.length > maxKeyLength || !keyPattern.test(key)) {
    throw new CodedError("invalid_argument", "not a key of the object store", { key: key.slice(0, 100) });
  }
}

/** Throws `invalid_argument` for a list request that breaks the rules of `ObjectStore`; returns its `maxKeys`. */
export function checkListRequest(request: ListRequest): number {
  const { prefix, startAfter = "", maxKeys = 1000 } = request;
  const bad = (text: string) => text.length > maxKeyLength || !prefixPattern.test(text);
  if (bad(prefix) || bad(startAfter) || !Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > 1000) {
    throw new CodedError("invalid_argument", "not a list request of the object store", { prefix: prefix.slice(0, 100), maxKeys });
  }
  return maxKeys;
}

/** The `startAfter` that continues behind the last entry of a page: behind every key of the prefix where that entry is one. */
export function continueAfter(lastKey: string | undefined, lastPrefix: string | undefined): string | undefined {
  // "0" follows "/", so that the folded keys below the prefix are all skipped.
  const behindPrefix = lastPrefix === undefined ? undefined : `${lastPrefix.slice(0, -1)}0`;
  if (behindPrefix === undefined || lastKey === undefined) return behindPrefix ?? lastKey;
  return lastKey > behindPrefix ? lastKey : behindPrefix;
}
