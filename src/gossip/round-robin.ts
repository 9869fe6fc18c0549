import { type Random, shuffle } from "../base/index.ts";

/** Whose turn it may be: to take, to pass over this time, or to forget. */
export type Turn = "take" | "pass" | "forget";

/** Randomised round robin: every name once per round, in an order that changes with each round. */
export class RoundRobin {
  readonly #random: Random;
  readonly #known = new Set<string>();
  #names: string[] = [];
  #index = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Adds a name anywhere in the running round, so that members do not all turn to a newcomer at once. */
  add(name: string): void {
    if (this.#known.has(name)) return;
    this.#known.add(name);
    const at = this.#random.int(this.#names.length + 1);
    this.#names.splice(at, 0, name);
    if (at < this.#index) this.#index++;
  }

  /** The next name that `turn` takes, or undefined if it takes none in a whole round. `onWrap` is called where a round ends. */
  next(turn: (name: string) => Turn, onWrap: () => void = () => {}): string | undefined {
    for (let visited = 0; visited <= this.#names.length; visited++) {
      if (this.#index >= this.#names.length) this.#startRound(turn, onWrap);
      const name = this.#names[this.#index++];
      if (name !== undefined && turn(name) === "take") return name;
    }
    return undefined;
  }

  #startRound(turn: (name: string) => Turn, onWrap: () => void): void {
    onWrap();
    const stays = (name: string) => turn(name) !== "forget" || !this.#known.delete(name);
    this.#names = shuffle(this.#random, this.#names.filter(stays));
    this.#index = 0;
  }
}
