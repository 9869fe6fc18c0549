import { readFile } from "node:fs/promises";
import { CodedError } from "../../src/base/index.ts";
import type { CreateResult, ListedObject, ListPage, ListRequest, ObjectStore, ObjectStream, PutBody } from "../../src/storage/index.ts";
import { checkListRequest, checkStoreKey, continueAfter } from "../../src/storage/object-store.ts";

/**
 * What may go wrong with one request.
 *
 * - `lostReply`: it is applied, but the caller is not told. `dropped`: neither. `late`: the caller is told nothing, and it is applied when
 *   `landLate()` is called. (Reads fail with `store_unavailable` for all three.)
 * - `ignoreCondition`: a create-only write overwrites.
 * - `short`: a body ends early without an error. `flipped`: a byte of it is wrong.
 */
export type MemoryFault = "lostReply" | "dropped" | "late" | "ignoreCondition" | "short" | "flipped";

export type StoreOp = "get" | "open" | "put" | "create" | "list" | "delete";

export interface MemoryObjectStoreOptions {
  /** Called before each request; may wait (that is how tests order requests) and may break it. */
  readonly intercept?: (op: StoreOp, key: string) => Promise<MemoryFault | undefined> | MemoryFault | undefined;
  readonly now?: () => number;
}

interface Stored {
  readonly bytes: Uint8Array;
  readonly lastModifiedMs: number;
}

/** The object store's twin in memory: the same contract, with faults on demand. Several "nodes" may share `objects`. */
export class MemoryObjectStore implements ObjectStore {
  readonly description = "memory";
  readonly objects: Map<string, Stored>;
  /** Every request that was made, in order. */
  readonly requests: { readonly op: StoreOp; readonly key: string }[] = [];
  readonly #options: MemoryObjectStoreOptions;
  #late: (() => void)[] = [];

  constructor(options: MemoryObjectStoreOptions = {}, objects: Map<string, Stored> = new Map()) {
    this.#options = options;
    this.objects = objects;
  }

  /** Applies the writes that were late so far, in an order chosen by `pick` (default: as they came). */
  landLate(pick: (count: number) => number = () => 0): void {
    while (this.#late.length > 0) this.#late.splice(pick(this.#late.length), 1)[0]?.();
  }

  /** Late writes that have not been applied. */
  get lateCount(): number {
    return this.#late.length;
  }

  async get(key: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | undefined> {
    checkStoreKey(key);
    const fault = await this.#begin("get", key, signal);
    const found = this.objects.get(key);
    if (!found) return undefined;
    if (found.bytes.length > maxBytes) {
      throw new CodedError("limit_exceeded", "the object is larger than the caller allows", { key, maxBytes });
    }
    return damaged(found.bytes, fault);
  }

  async open(key: string, signal: AbortSignal): Promise<ObjectStream | undefined> {
    checkStoreKey(key);
    const fault = await this.#begin("open", key, signal);
    const found = this.objects.get(key);
    if (!found) return undefined;
    const bytes = damaged(found.bytes, fault);
    const body = (async function* () {
      for (let at = 0; at < bytes.length; at += 64 * 1024) {
        signal.throwIfAborted();
        yield bytes.subarray(at, at + 64 * 1024);
      }
    })();
    return { sizeBytes: found.bytes.length, body, [Symbol.asyncDispose]: async () => {} };
  }

  async put(key: string, body: PutBody, signal: AbortSignal): Promise<void> {
    checkStoreKey(key);
    const bytes = body instanceof Uint8Array ? Uint8Array.from(body) : await readFile(body.file);
    const fault = await this.#begin("put", key, signal, () => this.#set(key, bytes));
    this.#set(key, bytes);
    if (fault === "lostReply") throw unavailable("put", key);
  }

  async createIfAbsent(key: string, body: Uint8Array, signal: AbortSignal): Promise<CreateResult> {
    checkStoreKey(key);
    const bytes = Uint8Array.from(body);
    const apply = () => {
      if (this.objects.has(key)) return false;
      this.#set(key, bytes);
      return true;
    };
    signal.throwIfAborted();
    this.requests.push({ op: "create", key });
    const fault = await this.#options.intercept?.("create", key);
    const unknown = { outcome: "unknown", detail: `fault: ${fault}`, refused: false } as const;
    if (fault === "dropped") return unknown;
    if (fault === "late") {
      this.#late.push(apply);
      return unknown;
    }
    if (fault === "ignoreCondition") {
      this.#set(key, bytes);
      return { outcome: "created" };
    }
    const created = apply();
    if (fault === "lostReply") return unknown;
    return { outcome: created ? "created" : "occupied" };
  }

  async list(request: ListRequest, signal: AbortSignal): Promise<ListPage> {
    const maxKeys = checkListRequest(request);
    await this.#begin("list", request.prefix, signal);
    const { prefix, startAfter = "", delimiter } = request;
    const objects: ListedObject[] = [];
    const prefixes: string[] = [];
    const matching = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > startAfter);
    for (const key of matching.sort()) {
      const fold = delimiter === undefined ? -1 : key.indexOf(delimiter, prefix.length);
      const folded = fold === -1 ? undefined : key.slice(0, fold + 1);
      if (folded !== undefined && prefixes.at(-1) === folded) continue;
      if (objects.length + prefixes.length === maxKeys) {
        return { objects, prefixes, next: continueAfter(objects.at(-1)?.key, prefixes.at(-1)) };
      }
      const { bytes, lastModifiedMs } = this.objects.get(key) as Stored;
      if (folded === undefined) objects.push({ key, sizeBytes: bytes.length, lastModifiedMs });
      else prefixes.push(folded);
    }
    return { objects, prefixes, next: undefined };
  }

  async delete(key: string, signal: AbortSignal): Promise<void> {
    checkStoreKey(key);
    const fault = await this.#begin("delete", key, signal, () => void this.objects.delete(key));
    this.objects.delete(key);
    if (fault === "lostReply") throw unavailable("delete", key);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #begin(op: StoreOp, key: string, signal: AbortSignal, late?: () => void): Promise<MemoryFault | undefined> {
    signal.throwIfAborted();
    this.requests.push({ op, key });
    const fault = await this.#options.intercept?.(op, key);
    signal.throwIfAborted();
    if (fault === "late" && late) this.#late.push(late);
    if (fault === "late" || fault === "dropped" || (fault === "lostReply" && !late)) throw unavailable(op, key);
    return fault;
  }

  #set(key: string, bytes: Uint8Array): void {
    this.objects.set(key, { bytes, lastModifiedMs: this.#options.now?.() ?? 0 });
  }
}

function damaged(bytes: Uint8Array, fault: MemoryFault | undefined): Uint8Array {
  if (fault === "short") return bytes.slice(0, Math.floor(bytes.length / 2));
  const copy = Uint8Array.from(bytes);
  if (fault === "flipped" && copy.length > 0) copy[copy.length >> 1] = (copy[copy.length >> 1] as number) ^ 0xff;
  return copy;
}

function unavailable(op: StoreOp, key: string): CodedError {
  return new CodedError("store_unavailable", "injected fault", { op, key, transient: true });
}
