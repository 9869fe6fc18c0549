/** One message that waits. */
export interface Broadcast {
  readonly id: number;
  /** A newer message replaces one with the same key. "" = none. */
  readonly key: string;
  readonly message: Uint8Array;
  readonly onFinished: (() => void) | undefined;
  transmits: number;
}

/** Messages by how often they were sent; within a tier the largest first, of those the newest. */
export class BroadcastTiers {
  readonly #tiers: Broadcast[][] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** What is taken first where it fits. */
  get first(): Broadcast | undefined {
    return this.#tiers.find((tier) => tier.length > 0)?.[0];
  }

  add(entry: Broadcast): void {
    while (this.#tiers.length <= entry.transmits) this.#tiers.push([]);
    const tier = this.#tiers[entry.transmits] as Broadcast[];
    tier.splice(placeOf(tier, entry.message.length, entry.id), 0, entry);
    this.#size++;
  }

  remove(entry: Broadcast): void {
    const tier = this.#tiers[entry.transmits];
    const at = tier ? placeOf(tier, entry.message.length, entry.id) : 0;
    if (tier?.[at] !== entry) return;
    tier.splice(at, 1);
    this.#size--;
  }

  /** Takes out the message that has been sent most often. */
  removeLast(): Broadcast | undefined {
    const last = this.#tiers.findLast((tier) => tier.length > 0)?.pop();
    if (last) this.#size--;
    return last;
  }

  /** Takes out what fits into `budgetBytes`, where each message costs `overheadBytes` more than it has. */
  take(budgetBytes: number, overheadBytes: number): Broadcast[] {
    const taken: Broadcast[] = [];
    let leftBytes = budgetBytes;
    for (const tier of this.#tiers) {
      for (;;) {
        const at = placeOf(tier, leftBytes - overheadBytes, Number.POSITIVE_INFINITY);
        const [entry] = tier.splice(at, 1);
        if (!entry) break;
        leftBytes -= entry.message.length + overheadBytes;
        taken.push(entry);
      }
    }
    this.#size -= taken.length;
    return taken;
  }
}

/** Where in a tier the messages begin that are not larger than `sizeBytes` and, of that size, not newer than `id`. */
function placeOf(tier: readonly Broadcast[], sizeBytes: number, id: number): number {
  let low = 0;
  let high = tier.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = tier[middle] as Broadcast;
    if (entry.message.length > sizeBytes || (entry.message.length === sizeBytes && entry.id > id)) low = middle + 1;
    else high = middle;
  }
  return low;
}
