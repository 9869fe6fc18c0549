import type { Random } from "../../src/base/index.ts";
import { ByteMutator } from "./byte-mutator.ts";
import { simRandom } from "./sim-random.ts";

/** A decoder under test. */
export interface FuzzTarget {
  readonly name: string;
  /** Valid and nearly valid inputs to start from, beside the kept corpus. */
  readonly seeds: readonly Uint8Array[];
  readonly dictionary: readonly Uint8Array[];
  readonly maxBytes: number;
  /**
   * Decodes and checks what must hold. Returns the kind of the outcome in a few words: equal kinds make equal words.
   * Throws where the decoder did what it must not.
   */
  readonly run: (bytes: Uint8Array) => string;
}

/** Kinds of outcomes that are kept in memory; a target that makes more has too fine words for them. */
const maxKinds = 4096;

/**
 * Mutates inputs and keeps those that lead to a new kind of outcome, the shortest of each kind, so that later
 * mutations start from there. Equal seeds give equal runs.
 */
export class Fuzzer {
  readonly #seed: number;
  readonly #target: FuzzTarget;
  readonly #random: Random;
  readonly #mutator: ByteMutator;
  readonly #kinds = new Map<string, number>();
  readonly #inputs: Uint8Array[] = [];
  readonly #found = new Map<string, Uint8Array>();
  #count = 0;

  /** Runs every input of `corpus`, and the target's seeds, at once. */
  constructor(options: { seed: number; corpus: readonly Uint8Array[] }, target: FuzzTarget) {
    this.#seed = options.seed;
    this.#target = target;
    this.#random = simRandom(options.seed);
    this.#mutator = new ByteMutator(target, this.#random);
    for (const bytes of [...target.seeds, ...options.corpus]) this.#run(bytes);
    this.#found.clear();
  }

  /** Inputs that were run. */
  get count(): number {
    return this.#count;
  }

  /** Kinds of outcomes that were seen. */
  get kinds(): number {
    return this.#kinds.size;
  }

  /** The shortest input of each kind that neither corpus nor seeds had. */
  get found(): ReadonlyMap<string, Uint8Array> {
    return this.#found;
  }

  /** Makes the next input. */
  next(): Uint8Array {
    const pick = () => this.#inputs[this.#random.int(this.#inputs.length)] ?? new Uint8Array();
    return this.#random.int(64) === 0 ? this.#random.bytes(this.#random.int(300)) : this.#mutator.mutate(pick(), pick());
  }

  /** Runs one input. Throws an error that names the decoder, the seed and the input. */
  run(bytes: Uint8Array): void {
    this.#run(bytes);
  }

  #run(bytes: Uint8Array): void {
    this.#count++;
    let kind: string;
    try {
      kind = this.#target.run(bytes);
    } catch (cause) {
      const where = `decoder ${this.#target.name}, seed ${this.#seed}, input ${this.#count}`;
      throw new Error(`${where}: ${String(cause)}\n${Buffer.from(bytes).toString("hex")}`, { cause });
    }
    const known = this.#kinds.get(kind);
    if (known === undefined) {
      if (this.#kinds.size >= maxKinds) return;
      this.#kinds.set(kind, this.#inputs.push(bytes) - 1);
      this.#found.set(kind, bytes);
    } else if (bytes.length < (this.#inputs[known] as Uint8Array).length) {
      this.#inputs[known] = bytes;
      if (this.#found.has(kind)) this.#found.set(kind, bytes);
    }
  }
}
