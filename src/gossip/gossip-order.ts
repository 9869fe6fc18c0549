/**
 * Whom one member tells next. A member passes news on to those at distances of 1, 2, 4, 8 … in the order of names, so that
 * the members together reach every one of them by sums of such distances, without any luck. Where there are few members
 * each tells all others.
 */
export class GossipOrder {
  readonly #self: string;
  #names: readonly string[] = [];
  #index = 0;
  #distances: readonly number[] = [];
  #step = 0;

  constructor(self: string) {
    this.#self = self;
  }

  /** Up to `count` different members. `names`: the living and this member, sorted; `transmissions`: how often news is told by each. */
  next(names: readonly string[], transmissions: number, count: number): string[] {
    if (names !== this.#names) {
      this.#names = names;
      this.#index = names.indexOf(this.#self);
      this.#distances = distancesIn(names.length, transmissions);
    }
    const taken = Math.min(count, this.#distances.length);
    return Array.from({ length: taken }, () => {
      const distance = this.#distances[this.#step++ % this.#distances.length] as number;
      return names[(this.#index + distance) % names.length] as string;
    });
  }
}

function distancesIn(members: number, transmissions: number): number[] {
  const others = members - 1;
  if (others <= transmissions) return Array.from({ length: Math.max(0, others) }, (_, i) => i + 1);
  return Array.from({ length: Math.ceil(Math.log2(members)) }, (_, i) => 2 ** i);
}
