import type { NodeRecord } from "./node-record.ts";

/** The names of the nodes that live, and of this one, sorted. */
export class LivingNames {
  readonly #self: string;
  readonly #nodes: () => readonly NodeRecord[];
  #seen: readonly NodeRecord[] = [];
  #names: readonly string[] = [];

  /** `nodes`: all known nodes sorted by name, the same array until one changes. */
  constructor(self: string, nodes: () => readonly NodeRecord[]) {
    this.#self = self;
    this.#nodes = nodes;
  }

  /** The same array until one comes or goes. */
  get current(): readonly string[] {
    const nodes = this.#nodes();
    if (nodes === this.#seen) return this.#names;
    this.#seen = nodes;
    const names = nodes
      .filter(({ name, state }) => name === this.#self || state === "alive" || state === "suspect")
      .map(({ name }) => name);
    if (names.length !== this.#names.length || names.some((name, i) => name !== this.#names[i])) this.#names = names;
    return this.#names;
  }
}
