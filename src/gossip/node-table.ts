import type { Random } from "../base/index.ts";
import type { NodeRecord } from "./node-record.ts";

/** All known nodes: by name, in order, and at random, none of which costs a walk over all of them unless one came or went. */
export class NodeTable {
  readonly #self: string;
  readonly #byName = new Map<string, NodeRecord>();
  readonly #sorted: NodeRecord[] = [];
  #snapshot: readonly NodeRecord[] | undefined;
  #living: readonly string[] | undefined;
  #failed: readonly NodeRecord[] | undefined;

  /** `self`: the name of this node, which counts as living whatever is said of it. */
  constructor(self: string) {
    this.#self = self;
  }

  get size(): number {
    return this.#sorted.length;
  }

  /** All records sorted by name; the same array until one changes. */
  get snapshot(): readonly NodeRecord[] {
    this.#snapshot ??= this.#sorted.slice();
    return this.#snapshot;
  }

  /** The names of this node and of all that live, sorted; the same array until one comes or goes. */
  get living(): readonly string[] {
    this.#living ??= this.#sorted.filter((record) => this.#isLiving(record)).map(({ name }) => name);
    return this.#living;
  }

  /** Those that have failed; the same array until one comes, goes or changes. */
  get failed(): readonly NodeRecord[] {
    this.#failed ??= this.#sorted.filter(({ state }) => state === "dead");
    return this.#failed;
  }

  get(name: string): NodeRecord | undefined {
    return this.#byName.get(name);
  }

  /** Adds a record, or replaces the one of its name. */
  put(record: NodeRecord): void {
    const at = this.#indexOf(record.name);
    const before = this.#byName.get(record.name);
    if (before) this.#sorted[at] = record;
    else this.#sorted.splice(at, 0, record);
    this.#byName.set(record.name, record);
    this.#changed(before, record);
  }

  delete(name: string): void {
    const before = this.#byName.get(name);
    if (!before) return;
    this.#byName.delete(name);
    this.#sorted.splice(this.#indexOf(name), 1);
    this.#changed(before, undefined);
  }

  /** Up to `count` different nodes at random, of those that are accepted. */
  sample(random: Random, count: number, accept: (record: NodeRecord) => boolean): NodeRecord[] {
    const found: NodeRecord[] = [];
    // A shuffle of which only the part that is looked at exists.
    const moved = new Map<number, number>();
    for (let left = this.#sorted.length; left > 0 && found.length < count; left--) {
      const at = random.int(left);
      const record = this.#sorted[moved.get(at) ?? at] as NodeRecord;
      moved.set(at, moved.get(left - 1) ?? left - 1);
      if (accept(record)) found.push(record);
    }
    return found;
  }

  #changed(before: NodeRecord | undefined, now: NodeRecord | undefined): void {
    this.#snapshot = undefined;
    if (before?.state === "dead" || now?.state === "dead") this.#failed = undefined;
    if (this.#isLiving(before) !== this.#isLiving(now)) this.#living = undefined;
  }

  #isLiving(record: NodeRecord | undefined): boolean {
    return record !== undefined && (record.name === this.#self || record.state === "alive" || record.state === "suspect");
  }

  /** Where `name` is, or would be. */
  #indexOf(name: string): number {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle] as NodeRecord).name < name) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
