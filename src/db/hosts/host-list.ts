import type { Random } from "../../base/index.ts";
import type { Host } from "./host.ts";

/** A replica as last judged. */
interface ReplicaState {
  readonly host: Host;
  readonly usable: boolean;
  /** Why it is not usable; "" where it is. */
  readonly reason: string;
}

/** The servers at one moment. Immutable: requests read it, background work replaces it. */
export interface HostSnapshot {
  readonly primary: Host;
  readonly replicas: readonly ReplicaState[];
}

/** Holds the newest snapshot. */
export class HostList {
  #snapshot: HostSnapshot;

  constructor(primary: Host, replicas: readonly Host[]) {
    this.#snapshot = { primary, replicas: replicas.map((host) => ({ host, usable: true, reason: "" })) };
  }

  get snapshot(): HostSnapshot {
    return this.#snapshot;
  }

  /** Records a judgement; a host that is no longer listed is ignored. */
  judge(host: Host, verdict: { usable: boolean; reason: string }): void {
    const replicas = this.#snapshot.replicas.map((state) => (state.host === host ? { host, ...verdict } : state));
    this.#snapshot = { ...this.#snapshot, replicas };
  }
}

/** The less busy of two random usable replicas that are not in `except`; undefined where there is none. */
export function pickReplica(snapshot: HostSnapshot, except: ReadonlySet<Host>, random: Random): Host | undefined {
  const candidates = snapshot.replicas.filter((state) => state.usable && !except.has(state.host)).map((state) => state.host);
  if (candidates.length <= 1) return candidates[0];
  const i = random.int(candidates.length);
  const j = (i + 1 + random.int(candidates.length - 1)) % candidates.length;
  const [a, b] = [candidates[i] as Host, candidates[j] as Host];
  return b.outstanding < a.outstanding ? b : a;
}
