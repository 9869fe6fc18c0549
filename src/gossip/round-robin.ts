import { type Random, shuffle } from "../base/index.ts";

/** Randomised round robin: every node once per round, in an order that changes with each round. */
export class RoundRobin {
  readonly #random: Random;
  #names: string[] = [];
  #index = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The next of `names` whose turn it is, or undefined if there is none. `onWrap` is called where a round ends. */
  next(names: ReadonlySet<string>, onWrap: () => void): string | undefined {
    this.#insertNew(names);
    for (let visited = 0; visited <= this.#names.length; visited++) {
      if (this.#index >= this.#names.length) {
        this.#names = shuffle(
          this.#random,
          this.#names.filter((name) => names.has(name)),
        );
        this.#index = 0;
        onWrap();
      }
      const name = this.#names[this.#index++];
      if (name !== undefined && names.has(name)) return name;
    }
    return undefined;
  }

  #insertNew(names: ReadonlySet<string>): void {
    const known = new Set(this.#names);
    for (const name of names) {
      if (known.has(name)) continue;
      // Anywhere in the list, so that members do not all turn to a newcomer at once.
      const at = this.#random.int(this.#names.length + 1);
      this.#names.splice(at, 0, name);
      if (at < this.#index) this.#index++;
    }
  }
}
