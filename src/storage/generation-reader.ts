import { LRUCache } from "lru-cache";
import { CodedError } from "../base/index.ts";
import { Coalescer } from "./coalescer.ts";
import type { Generation } from "./generation.ts";
import { decodeGeneration, generationLimits } from "./generation-codec.ts";
import { encodeRepositoryPath, generationsPrefix, slotKey, slotOfKey } from "./keys.ts";
import type { ObjectStore } from "./object-store.ts";

/** A node that is further behind than this asks for the newest slot instead of walking. */
const maxSteps = 8;

export interface GenerationReaderOptions {
  /** Repositories whose newest known generation is kept in memory. Default 10,000. */
  readonly knownGenerations: number;
  /** Memory for them, in bytes. Default 268,435,456. */
  readonly knownGenerationsBytes: number;
}

/**
 * Finds the newest generation of a repository. Slots are contiguous and never vacated, so a known generation `n` is current exactly when
 * slot `n + 1` is absent: one small request. What is known only moves forward.
 */
export class GenerationReader {
  readonly #store: ObjectStore;
  readonly #known: LRUCache<string, Generation>;
  readonly #probes = new Coalescer<Generation | undefined>();

  constructor(options: GenerationReaderOptions, deps: { store: ObjectStore }) {
    this.#store = deps.store;
    this.#known = new LRUCache({
      max: options.knownGenerations,
      maxSize: options.knownGenerationsBytes,
      sizeCalculation: ({ inlineRefTable, refTables, packs, trash }) =>
        1024 + inlineRefTable.length + 1024 * packs.length + 256 * (refTables.length + Object.keys(trash).length),
    });
  }

  /** The newest generation this node has seen; may be outdated. */
  known(path: string): Generation | undefined {
    return this.#known.get(path);
  }

  /** Remembers a generation that is in the store. */
  adopt(generation: Generation): void {
    const known = this.#known.get(generation.path);
    if (!known || known.n < generation.n) this.#known.set(generation.path, generation);
  }

  /**
   * The newest generation, live or deleted, as of a request sent after this call; undefined where there never was one.
   * Errors: `store_unavailable`, `corrupt`.
   */
  newest(path: string, signal: AbortSignal): Promise<Generation | undefined> {
    return this.#probes.run(path, signal, (shared) => this.#probe(path, shared));
  }

  /** The record in a slot; undefined where the slot is empty. Errors: `store_unavailable`, `corrupt`. */
  async slot(path: string, n: number, signal: AbortSignal): Promise<Generation | undefined> {
    const key = slotKey(encodeRepositoryPath(path), n);
    const bytes = await this.#store.get(key, generationLimits.recordBytes, signal);
    return bytes === undefined ? undefined : decodeAt(key, bytes, { n, path });
  }

  /** The newest generation of a repository of which only the encoded path is known. */
  async newestOfEncoded(encodedPath: string, signal: AbortSignal): Promise<Generation | undefined> {
    const { objects } = await this.#store.list({ prefix: generationsPrefix(encodedPath), maxKeys: 1 }, signal);
    const key = objects[0]?.key;
    if (key === undefined) return undefined;
    const n = slotOfKey(encodedPath, key);
    if (n === undefined) throw new CodedError("corrupt", "a foreign object lies among the generations", { key });
    const bytes = await this.#store.get(key, generationLimits.recordBytes, signal);
    if (bytes === undefined) {
      throw new CodedError("store_unavailable", "the store lists a generation that it does not have", { key });
    }
    const generation = decodeAt(key, bytes, { n });
    if (encodeRepositoryPath(generation.path) !== encodedPath) {
      throw new CodedError("corrupt", "a generation record is damaged", { key, problem: "record is of another path" });
    }
    this.adopt(generation);
    return generation;
  }

  async #probe(path: string, signal: AbortSignal): Promise<Generation | undefined> {
    let newest = this.#known.get(path);
    for (let step = 0; newest && step < maxSteps; step++) {
      const next = await this.slot(path, newest.n + 1, signal);
      if (!next) return newest;
      if (next.parentDigest !== newest.digest) throw brokenChain(path, next.n);
      this.adopt(next);
      newest = next;
    }
    const found = await this.newestOfEncoded(encodeRepositoryPath(path), signal);
    if (newest && (found?.n ?? 0) < newest.n) {
      throw new CodedError("corrupt", "the store lost generations of a repository", { path, known: newest.n, found: found?.n ?? 0 });
    }
    return found;
  }
}

function decodeAt(key: string, bytes: Uint8Array, expected: { n: number; path?: string }): Generation {
  try {
    return decodeGeneration(bytes, expected);
  } catch (error) {
    if (!CodedError.is(error, "corrupt")) throw error;
    throw new CodedError("corrupt", error.message, { ...error.fields, key });
  }
}

/** The error for a generation that names another one as its predecessor than the one that is there. */
export function brokenChain(path: string, n: number): CodedError {
  return new CodedError("corrupt", "a generation does not continue the one before it", { path, n });
}
