import { type Clock, CodedError, type Random, randomHex, startDeadline } from "../base/index.ts";
import type { ObjectStore } from "./object-store.ts";
import type { StoreHealth } from "./repository-storage.ts";

const raceWidth = 16;
const maxProbeBytes = 1024;

export interface ProbeOptions {
  /** Longest time for the whole probe, in milliseconds. Default 60,000. */
  readonly probeTimeoutMs: number;
}

export interface ProbeDeps {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Tries the store once, with keys of its own that are removed afterwards.
 *
 * - `proven`: create-only writes, read-after-write and list order hold.
 * - `read_only`: create-only writes do not hold or are refused; reads are fine.
 * - `broken`: reads or lists are not what was written; nothing may rest on this store.
 * - `unproven`: it could not be reached; try again.
 */
export async function probeStore(deps: ProbeDeps, options: ProbeOptions, signal: AbortSignal): Promise<StoreHealth> {
  using deadline = startDeadline(deps.clock, options.probeTimeoutMs, signal);
  const probe = new Probe(deps, deadline.signal);
  try {
    const health = (await probe.createOnly()) ?? (await probe.race()) ?? (await probe.readAfterWrite()) ?? (await probe.listOrder());
    return health ?? { state: "proven", message: "" };
  } catch (error) {
    signal.throwIfAborted();
    const code = CodedError.is(error) ? error.code : "store_unavailable";
    const answer = CodedError.is(error) && typeof error.fields["answer"] === "string" ? ` (${error.fields["answer"]})` : "";
    return { state: "unproven", message: `${error instanceof Error ? error.message : "the object store cannot answer"}${answer}`, code };
  } finally {
    await probe.cleanUp();
  }
}

class Probe {
  readonly #deps: ProbeDeps;
  readonly #signal: AbortSignal;
  readonly #prefix: string;
  readonly #written: string[] = [];

  constructor(deps: ProbeDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
    this.#prefix = `probe/${randomHex(deps.random, 16)}/`;
  }

  async createOnly(): Promise<StoreHealth | undefined> {
    const key = this.#key("create");
    const first = await this.#create(key, "first").catch((error: unknown) => {
      // The write was refused before it was tried; reads may be fine.
      if (CodedError.is(error, "store_unavailable") && error.fields["refused"] === true) return error;
      throw error;
    });
    if (first instanceof CodedError) return readOnly(`the store refuses writes: ${String(first.fields["answer"])}`);
    if (first.outcome === "unknown") {
      if (first.refused) return readOnly(`the store refuses create-only writes: ${first.detail}`);
      throw new CodedError("store_unavailable", "the store does not say what became of a create-only write", { answer: first.detail });
    }
    // What repeats requests on the way makes an attempt meet its own predecessor.
    if (first.outcome === "occupied" && (await this.#get(key)) !== "first") return readOnly("the store calls a new key occupied");
    const second = await this.#create(key, "second");
    if (second.outcome === "created") return readOnly("the store accepted a second create-only write (If-None-Match: *) of one key");
    if (second.outcome === "unknown") {
      // 409 and overload are allowed answers; the read below still shows whether anything was overwritten.
      if (second.refused) return readOnly(`the store answers a second create-only write with ${second.detail}`);
    }
    const found = await this.#get(key);
    if (found === "second") return readOnly("the store overwrote a key by a create-only write");
    return found === "first" ? undefined : broken("a read does not see a write that was acknowledged before it");
  }

  async race(): Promise<StoreHealth | undefined> {
    const key = this.#key("race");
    const outcomes = await Promise.all(Array.from({ length: raceWidth }, (_, i) => this.#create(key, String(i))));
    const winners = outcomes.flatMap(({ outcome }, i) => (outcome === "created" ? [String(i)] : []));
    if (winners.length > 1) return readOnly(`${winners.length} of ${raceWidth} concurrent create-only writes of one key were accepted`);
    const found = await this.#get(key);
    if (winners.length === 1 && found !== winners[0])
      return readOnly("a create-only write was accepted, but another one's content is stored");
    if (winners.length === 0 && found === undefined) {
      throw new CodedError("store_unavailable", "none of several concurrent create-only writes was made");
    }
    return undefined;
  }

  async readAfterWrite(): Promise<StoreHealth | undefined> {
    const key = this.#key("read");
    const steps: [string | undefined, () => Promise<void>][] = [
      [undefined, async () => {}],
      ["one", () => this.#put(key, "one")],
      ["two", () => this.#put(key, "two")],
      [undefined, () => this.#deps.store.delete(key, this.#signal)],
    ];
    for (const [expected, act] of steps) {
      await act();
      if ((await this.#get(key)) !== expected) return broken("a read does not see a write that was acknowledged before it");
    }
    return undefined;
  }

  async listOrder(): Promise<StoreHealth | undefined> {
    const prefix = `${this.#prefix}list/`;
    // In byte order; what a locale or a directory-wise order would put elsewhere.
    const names = ["0", "A", "a-b", "a/b", "a0", "a_", "b"];
    await Promise.all([...names].reverse().map((name) => this.#put(this.#key(`list/${name}`), name)));
    const keys = async (maxKeys: number, after?: string) => {
      const request = { prefix, maxKeys, ...(after === undefined ? {} : { startAfter: prefix + after }) };
      return (await this.#deps.store.list(request, this.#signal)).objects.map(({ key }) => key.slice(prefix.length));
    };
    const asExpected =
      same(await keys(1000), names) && same(await keys(1), names.slice(0, 1)) && same(await keys(2, "a-b"), names.slice(3, 5));
    return asExpected ? undefined : broken("the store does not list new keys at once and in byte order");
  }

  /** Best effort: what stays is small and lies below `probe/`. */
  async cleanUp(): Promise<void> {
    const { clock, store } = this.#deps;
    using deadline = startDeadline(clock, 5000);
    await Promise.allSettled(this.#written.map((key) => store.delete(key, deadline.signal)));
  }

  #key(name: string): string {
    const key = this.#prefix + name;
    this.#written.push(key);
    return key;
  }

  #create(key: string, text: string) {
    return this.#deps.store.createIfAbsent(key, Buffer.from(text), this.#signal);
  }

  #put(key: string, text: string): Promise<void> {
    return this.#deps.store.put(key, Buffer.from(text), this.#signal);
  }

  async #get(key: string): Promise<string | undefined> {
    const bytes = await this.#deps.store.get(key, maxProbeBytes, this.#signal);
    return bytes === undefined ? undefined : Buffer.from(bytes).toString();
  }
}

function readOnly(message: string): StoreHealth {
  return { state: "read_only", message, code: "store_refuses_writes" };
}

function broken(message: string): StoreHealth {
  return { state: "broken", message, code: "failed_precondition" };
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}
