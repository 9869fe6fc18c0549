import type { Random } from "../base/index.ts";

/**
 * In which order one member probes the others: each once per round. All members with the same view follow one plan,
 * in which each round has every member probed by exactly one other, so that nobody is left out for long by chance. The
 * plan steps through the names in the ratio of the golden section, so that neighbours by name are not probed one after the other.
 */
export class ProbeOrder {
  readonly #self: string;
  readonly #random: Random;
  #names: string[] = [];
  #next = 0;

  constructor(self: string, random: Random) {
    this.#self = self;
    this.#random = random;
  }

  /** A newcomer gets a turn at a random moment of the running round. */
  add(name: string): void {
    this.#names.splice(this.#next + this.#random.int(this.#names.length - this.#next + 1), 0, name);
  }

  /**
   * The next name that `accept` takes. Where the round ends, `startRound` gives the names of the next one, sorted, this
   * member among them, and the number of the round by a clock that is about the same everywhere.
   */
  next(accept: (name: string) => boolean, startRound: () => { names: readonly string[]; round: number }): string | undefined {
    if (this.#next >= this.#names.length) {
      const { names, round } = startRound();
      this.#names = this.#plan(names, round);
      this.#next = 0;
    }
    const at = this.#next++;
    // Who cannot be probed any more leaves the moment to the one who comes after.
    for (let i = 0; i < this.#names.length; i++) {
      const name = this.#names[(at + i) % this.#names.length] as string;
      if (accept(name)) return name;
    }
    return undefined;
  }

  #plan(names: readonly string[], round: number): string[] {
    const index = names.indexOf(this.#self);
    const others = names.length - 1;
    if (index < 0 || others < 1) return names.filter((name) => name !== this.#self);
    const step = stepThrough(others);
    return Array.from({ length: others }, (_, i) => {
      const offset = 1 + ((((round + i) % others) * step) % others);
      return names[(index + offset) % names.length] as string;
    });
  }
}

/** A step that visits each of `count` places, near the golden section. */
function stepThrough(count: number): number {
  let step = Math.max(1, Math.round(count * 0.618));
  while (commonDivisor(step, count) !== 1) step++;
  return step;
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}
