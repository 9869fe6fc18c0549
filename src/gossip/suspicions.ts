import { remainingSuspicionMs, type SuspicionBounds } from "./suspicion.ts";

interface Suspicion {
  readonly bounds: SuspicionBounds;
  readonly startedAtMs: number;
  readonly originator: string;
  readonly confirmedBy: Set<string>;
}

/** Who is under suspicion, by whom, and for how long still. */
export class Suspicions {
  readonly #running = new Map<string, Suspicion>();

  has(node: string): boolean {
    return this.#running.has(node);
  }

  /** Starts one; returns how long it lasts if nobody confirms it. */
  start(node: string, bounds: SuspicionBounds, originator: string, nowMs: number): number {
    this.#running.set(node, { bounds, startedAtMs: nowMs, originator, confirmedBy: new Set() });
    return Math.max(0, remainingSuspicionMs(bounds, 0, 0));
  }

  /** Counts a confirmation; returns what is left then, undefined where it is not news. */
  confirm(node: string, from: string, nowMs: number): number | undefined {
    const suspicion = this.#running.get(node);
    if (!suspicion) return undefined;
    const { bounds, confirmedBy, originator, startedAtMs } = suspicion;
    if (from === originator || confirmedBy.has(from) || confirmedBy.size >= bounds.confirmations) return undefined;
    confirmedBy.add(from);
    return Math.max(0, remainingSuspicionMs(bounds, confirmedBy.size, nowMs - startedAtMs));
  }

  /** Ends it; false where there is none. */
  end(node: string): boolean {
    return this.#running.delete(node);
  }
}
