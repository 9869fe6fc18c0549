import type { Random } from "../../base/index.ts";
import type { Position } from "../position/position.ts";
import type { Host } from "./host.ts";

/** Where writes go. */
interface PrimaryState {
  readonly host: Host;
  /** The end of its log as last seen; undefined where nobody could look yet. */
  readonly position: Position | undefined;
}

/** A server that may serve reads, as last judged. */
export interface ReplicaState {
  readonly host: Host;
  readonly usable: boolean;
  /** Why it is not usable; where it is, "" or `stale_verdict`. */
  readonly reason: string;
  /** Its share of the load while it starts slowly: above 0, at most 1. */
  readonly weight: number;
  /** What could be read there when it was last asked. */
  readonly reached: Position | undefined;
  readonly lagBytes: number | undefined;
  readonly lagMs: number | undefined;
}

/** The servers at one moment. Immutable: requests read it, background work replaces it. */
export interface HostSnapshot {
  readonly primary: PrimaryState | undefined;
  /** Why there is no primary; "" where there is one. */
  readonly withoutPrimary: string;
  readonly replicas: readonly ReplicaState[];
}

/** Holds the newest snapshot. */
export class HostList {
  #snapshot: HostSnapshot = { primary: undefined, withoutPrimary: "not_checked", replicas: [] };
  #waiters = new Set<() => void>();

  get snapshot(): HostSnapshot {
    return this.#snapshot;
  }

  publish(snapshot: HostSnapshot): void {
    this.#snapshot = snapshot;
    for (const wake of this.#waiters) wake();
  }

  /** Resolves with the primary, as soon as there is one that is not `except`; rejects with the signal's reason. */
  primaryOtherThan(except: Host | undefined, signal: AbortSignal): Promise<Host> {
    const other = ({ primary }: HostSnapshot) => (primary && primary.host !== except ? primary.host : undefined);
    return this.#when(other, signal);
  }

  /** Resolves as soon as every server that may serve reads has been checked once; rejects with the signal's reason. */
  async allChecked(signal: AbortSignal): Promise<void> {
    await this.#when(({ replicas }) => replicas.every(({ reason }) => reason !== "not_checked") || undefined, signal);
  }

  /** What `find` finds in a snapshot, as soon as it finds something. */
  #when<T>(find: (snapshot: HostSnapshot) => T | undefined, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.#waiters.delete(look);
        signal.removeEventListener("abort", onAbort);
      };
      const onAbort = () => {
        stop();
        reject(signal.reason);
      };
      const look = () => {
        const found = find(this.#snapshot);
        if (found === undefined) return;
        stop();
        resolve(found);
      };
      this.#waiters.add(look);
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
      else look();
    });
  }
}

/** How a replica is chosen: the less busy of two random ones, or any. */
export type ReplicaChoice = "least_outstanding" | "random";

/** A usable replica that is not in `except`, chosen by weight, one that is not avoided where there is any; undefined where there is none. */
export function pickReplica(
  { replicas }: HostSnapshot,
  except: ReadonlySet<Host>,
  random: Random,
  choice: ReplicaChoice = "least_outstanding",
): Host | undefined {
  let some: ReplicaState | undefined;
  let count = 0;
  let avoided = 0;
  for (const state of replicas) {
    if (!state.usable || except.has(state.host)) continue;
    some = state;
    count++;
    if (state.host.avoided) avoided++;
  }
  if (count <= 1) return some?.host;
  // Mostly all will do, and no list has to be made.
  const all = count === replicas.length && avoided === 0;
  const mixed = avoided > 0 && avoided < count;
  const candidates = all ? replicas : replicas.filter((one) => one.usable && !except.has(one.host) && !(mixed && one.host.avoided));
  if (candidates.length === 1) return candidates[0]?.host;
  const a = byWeight(candidates, random, undefined);
  if (choice === "random") return a.host;
  const b = byWeight(candidates, random, a);
  return b.host.outstanding < a.host.outstanding ? b.host : a.host;
}

/** One of them, by weight, but not `except`. */
function byWeight(candidates: readonly ReplicaState[], random: Random, except: ReplicaState | undefined): ReplicaState {
  let sum = 0;
  for (const one of candidates) if (one !== except) sum += one.weight;
  let left = random.float() * sum;
  let last: ReplicaState | undefined;
  for (const one of candidates) {
    if (one === except) continue;
    left -= one.weight;
    if (left < 0) return one;
    last = one;
  }
  return last as ReplicaState;
}

/** Why reads find no replica: the reason of a read that goes to the primary instead. */
export function noReplicaReason({ replicas }: HostSnapshot): "no_replica" | "lag" {
  return replicas.length > 0 && replicas.every((one) => !one.usable && one.reason.includes("lag")) ? "lag" : "no_replica";
}
