import type { Random } from "../base/index.ts";
import type { NodeRecord } from "./node-record.ts";

/** All known nodes: by name, in order, and at random, none of which costs a walk over all of them. */
export class NodeTable {
  readonly #byName = new Map<string, NodeRecord>();
  readonly #sorted: NodeRecord[] = [];
  #snapshot: readonly NodeRecord[] | undefined;
  #dead = 0;

  get size(): number {
    return this.#sorted.length;
  }

  /** All records sorted by name; the same array until one changes. */
  get snapshot(): readonly NodeRecord[] {
    this.#snapshot ??= this.#sorted.slice();
    return this.#snapshot;
  }

  /** How many have failed. */
  get dead(): number {
    return this.#dead;
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
    this.#count(before, record);
    this.#snapshot = undefined;
  }

  delete(name: string): void {
    this.#count(this.#byName.get(name), undefined);
    if (!this.#byName.delete(name)) return;
    this.#sorted.splice(this.#indexOf(name), 1);
    this.#snapshot = undefined;
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

  #count(before: NodeRecord | undefined, now: NodeRecord | undefined): void {
    if (before?.state === "dead") this.#dead--;
    if (now?.state === "dead") this.#dead++;
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
