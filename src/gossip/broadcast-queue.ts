import { type Broadcast, BroadcastTiers } from "./broadcast-tiers.ts";
import { compoundPartOverheadBytes } from "./codec/compound.ts";

export interface BroadcastQueueOptions {
  readonly retransmitMultiplier: number;
  /** Messages of each class that may wait; the most transmitted goes first. */
  readonly maxEntries: number;
}

export interface QueueOptions {
  /** Called when the message was sent out, replaced or pushed out. */
  readonly onFinished?: () => void;
  /** It goes out before all others. */
  readonly urgent?: boolean;
}

/**
 * How often each message is sent in a cluster of `nodes`: by the logarithm of its size, but in a small cluster often
 * enough for each member to tell every other one.
 */
export function retransmitLimit(multiplier: number, nodes: number): number {
  return Math.max(multiplier * Math.ceil(Math.log10(nodes + 1)), Math.min(nodes - 1, 2 * multiplier));
}

/**
 * Messages that wait to be gossiped, each a limited number of times: the least transmitted first, among those the
 * largest that fits, among those the newest. User messages have a quarter of each packet for themselves, and always room for one.
 */
export class BroadcastQueue {
  readonly #options: BroadcastQueueOptions;
  readonly #urgent = new BroadcastTiers();
  readonly #system = new BroadcastTiers();
  readonly #user = new BroadcastTiers();
  readonly #byKey = new Map<string, { readonly entry: Broadcast; readonly tiers: BroadcastTiers }>();
  #nextId = 0;

  constructor(options: BroadcastQueueOptions) {
    this.#options = options;
  }

  /** Messages that wait. */
  get size(): number {
    return this.#urgent.size + this.#system.size + this.#user.size;
  }

  /** Queues a membership message about `key`, instead of an older one about it. */
  queueSystem(key: string, message: Uint8Array, { onFinished, urgent = false }: QueueOptions = {}): void {
    const replaced = this.#byKey.get(key);
    replaced?.tiers.remove(replaced.entry);
    const tiers = urgent ? this.#urgent : this.#system;
    const entry = { id: this.#nextId++, key, message, onFinished, transmits: 0 };
    this.#byKey.set(key, { entry, tiers });
    this.#add(tiers, entry);
    replaced?.entry.onFinished?.();
  }

  /** Takes back what waits about `key`: it is too old to be news. */
  drop(key: string): void {
    const waiting = this.#byKey.get(key);
    if (!waiting) return;
    waiting.tiers.remove(waiting.entry);
    this.#forget(waiting.entry);
    waiting.entry.onFinished?.();
  }

  /** Queues a user message. */
  queueUser(message: Uint8Array): void {
    this.#add(this.#user, { id: this.#nextId++, key: "", message, onFinished: undefined, transmits: 0 });
  }

  /** Messages for one packet of at most `budgetBytes`, each counted as sent once unless told otherwise. `nodes`: the cluster's size. */
  take(budgetBytes: number, nodes: number, counted = true): Uint8Array[] {
    if (this.size === 0) return [];
    const limit = Math.max(1, retransmitLimit(this.#options.retransmitMultiplier, nodes));
    const next = this.#user.first;
    const reservedBytes = next ? Math.max(Math.floor(budgetBytes / 4), next.message.length + compoundPartOverheadBytes) : 0;
    const taken: [BroadcastTiers, Broadcast][] = [];
    let leftBytes = budgetBytes;
    const takeFrom = (tiers: BroadcastTiers, keepBytes: number) => {
      for (const entry of tiers.take(leftBytes - keepBytes, compoundPartOverheadBytes)) {
        leftBytes -= entry.message.length + compoundPartOverheadBytes;
        taken.push([tiers, entry]);
      }
    };
    takeFrom(this.#urgent, 0);
    takeFrom(this.#system, reservedBytes);
    takeFrom(this.#user, 0);
    takeFrom(this.#system, 0);
    if (!counted) for (const [tiers, entry] of taken) tiers.add(entry);
    const finished = counted ? taken.filter(([tiers, entry]) => !this.#keep(tiers, entry, limit)) : [];
    for (const [, { onFinished }] of finished) onFinished?.();
    return taken.map(([, { message }]) => message);
  }

  /** Counts one transmission; false if it was the last. */
  #keep(tiers: BroadcastTiers, entry: Broadcast, limit: number): boolean {
    entry.transmits++;
    if (entry.transmits < limit) {
      tiers.add(entry);
      return true;
    }
    this.#forget(entry);
    return false;
  }

  #add(tiers: BroadcastTiers, entry: Broadcast): void {
    tiers.add(entry);
    if (tiers.size <= this.#options.maxEntries) return;
    const last = tiers.removeLast();
    if (!last) return;
    this.#forget(last);
    last.onFinished?.();
  }

  #forget(entry: Broadcast): void {
    if (this.#byKey.get(entry.key)?.entry === entry) this.#byKey.delete(entry.key);
  }
}
