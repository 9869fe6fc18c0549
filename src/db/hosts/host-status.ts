import type { HostSnapshot } from "./host-list.ts";
import type { Server } from "./server.ts";

/** State of one server, for status pages. */
export interface HostStatus {
  readonly host: string;
  /** What it is used as; "none": it fits no role. */
  readonly role: "primary" | "replica" | "none";
  readonly usable: boolean;
  /** Why it is not usable; where it is, "" or `stale_verdict`: judged without the primary's help. */
  readonly reason: string;
  /** Missing bytes of the primary's log; null where that is not known. */
  readonly lagBytes: number | null;
  /** Age of the newest replayed transaction, which grows while nothing is written; null where that is not known. */
  readonly lagSeconds: number | null;
  /** Of the timeline it is on; null where it has not said. */
  readonly timeline: number | null;
}

/** The servers as they are judged now, the primary first. */
export function hostStatuses(servers: readonly Server[], snapshot: HostSnapshot): readonly HostStatus[] {
  const states = new Map(snapshot.replicas.map((state) => [state.host.name, state]));
  const statuses = servers.map((server): HostStatus => {
    const { role, reason } = server.role;
    const state = states.get(server.name);
    const answers = server.facts !== undefined || server.misses === 0;
    const timeline = server.facts?.timeline || null;
    if (role === "primary" || !state) {
      const why = role === "none" ? reason : answers ? "" : server.missReason;
      return { host: server.name, role, usable: role !== "none" && answers, reason: why, lagBytes: null, lagSeconds: null, timeline };
    }
    const lagSeconds = state.lagMs === undefined ? null : state.lagMs / 1000;
    return { host: server.name, role, usable: state.usable, reason: state.reason, lagBytes: state.lagBytes ?? null, lagSeconds, timeline };
  });
  return [...statuses.filter(({ role }) => role === "primary"), ...statuses.filter(({ role }) => role !== "primary")];
}
