/**
 * In which order one member probes the others: each once per round. All members with the same view follow one plan, in
 * which each of them is probed by exactly one other in each interval, so that nobody is left out for long by chance. The
 * plan steps through the names in the ratio of the golden section, so that neighbours by name are not probed one after the other.
 */
export class ProbeOrder {
  readonly #self: string;
  #names: readonly string[] = [];
  #index = 0;
  #start = 0;
  #stride = 1;
  #visited = 0;

  constructor(self: string) {
    this.#self = self;
  }

  /**
   * Whose turn it is. `names`: those who can be probed and this member, sorted; another array begins the plan anew.
   * `interval`: the number of this interval by a clock that is about the same everywhere. Undefined where there is nobody.
   */
  next(names: readonly string[], interval: number): string | undefined {
    const others = names.length - 1;
    if (names !== this.#names || this.#visited >= others) this.#begin(names, interval);
    if (others < 1) return undefined;
    const offset = 1 + ((((this.#start + this.#visited++) % others) * this.#stride) % others);
    return names[(this.#index + offset) % names.length];
  }

  #begin(names: readonly string[], interval: number): void {
    if (names !== this.#names) {
      this.#names = names;
      this.#index = names.indexOf(this.#self);
      this.#stride = strideThrough(names.length - 1);
    }
    this.#start = interval;
    this.#visited = 0;
  }
}

/** A stride that visits each of `count` places, near the golden section. */
function strideThrough(count: number): number {
  let stride = Math.max(1, Math.round(count * 0.618));
  while (commonDivisor(stride, count) > 1) stride++;
  return stride;
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}
