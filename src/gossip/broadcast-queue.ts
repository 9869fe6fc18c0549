import { compoundPartOverheadBytes } from "./codec/compound.ts";

interface Entry {
  readonly id: number;
  /** A newer message replaces one with the same key. "" = none. */
  readonly key: string;
  readonly message: Uint8Array;
  readonly onFinished: (() => void) | undefined;
  transmits: number;
}

export interface BroadcastQueueOptions {
  readonly retransmitMultiplier: number;
  /** Messages of each class that may wait; the most transmitted goes first. Default 4096. */
  readonly maxEntries: number;
}

/** How often each message is sent in a cluster of `nodes`. */
export function retransmitLimit(multiplier: number, nodes: number): number {
  return multiplier * Math.ceil(Math.log10(nodes + 1));
}

/**
 * Messages that wait to be gossiped, each a limited number of times: the least transmitted first, among those the
 * largest that fits, among those the newest. User messages have a quarter of each packet for themselves.
 */
export class BroadcastQueue {
  readonly #options: BroadcastQueueOptions;
  #system: Entry[] = [];
  #user: Entry[] = [];
  #nextId = 0;

  constructor(options: BroadcastQueueOptions) {
    this.#options = options;
  }

  /** Messages that wait. */
  get size(): number {
    return this.#system.length + this.#user.length;
  }

  /** Queues a membership message about `key`. `onFinished` is called when it is sent out, replaced or pushed out. */
  queueSystem(key: string, message: Uint8Array, onFinished?: () => void): void {
    const replaced = this.#system.filter((entry) => entry.key === key);
    this.#system = this.#system.filter((entry) => entry.key !== key);
    this.#add(this.#system, { id: this.#nextId++, key, message, onFinished, transmits: 0 });
    for (const entry of replaced) entry.onFinished?.();
  }

  /** Queues a user message. */
  queueUser(message: Uint8Array): void {
    this.#add(this.#user, { id: this.#nextId++, key: "", message, onFinished: undefined, transmits: 0 });
  }

  #add(entries: Entry[], entry: Entry): void {
    entries.push(entry);
    if (entries.length <= this.#options.maxEntries) return;
    entries.sort(byUrgency);
    entries.pop()?.onFinished?.();
  }

  /** Messages for one packet of at most `budgetBytes`, each counted as sent once. `nodes`: the cluster's size. */
  take(budgetBytes: number, nodes: number): Uint8Array[] {
    if (this.size === 0) return [];
    const limit = Math.max(1, retransmitLimit(this.#options.retransmitMultiplier, nodes));
    const taken: Entry[] = [];
    const reserved = this.#user.length > 0 ? Math.floor(budgetBytes / 4) : 0;
    let left = budgetBytes - pick(this.#system, budgetBytes - reserved, taken);
    left -= pick(this.#user, left, taken);
    pick(this.#system, left, taken);
    for (const entry of taken) entry.transmits++;
    const isDone = (entry: Entry) => entry.transmits >= limit;
    this.#system = this.#system.filter((entry) => !isDone(entry));
    this.#user = this.#user.filter((entry) => !isDone(entry));
    for (const entry of taken) if (isDone(entry)) entry.onFinished?.();
    return taken.map((entry) => entry.message);
  }
}

function byUrgency(a: Entry, b: Entry): number {
  return a.transmits - b.transmits || b.message.length - a.message.length || b.id - a.id;
}

/** Moves what fits to `taken`; returns the bytes that it costs. */
function pick(entries: Entry[], budgetBytes: number, taken: Entry[]): number {
  entries.sort(byUrgency);
  let used = 0;
  for (const entry of entries) {
    const cost = entry.message.length + compoundPartOverheadBytes;
    if (used + cost > budgetBytes || taken.includes(entry)) continue;
    used += cost;
    taken.push(entry);
  }
  return used;
}
