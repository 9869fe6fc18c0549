import { formatPosition } from "../position/position.ts";
import type { HostSnapshot } from "./host-list.ts";
import type { Server } from "./server.ts";
import { reachedPosition, writtenPosition } from "./server-facts.ts";

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
  /** What it said of itself; null where it does not answer. */
  readonly inRecovery: boolean | null;
  /** Whether its transactions are read-only unless they ask otherwise; null where it does not answer. */
  readonly readOnly: boolean | null;
  /** How long ago it said so; null where it does not answer. */
  readonly checkedMsAgo: number | null;
  /** Where a primary's log ends, or what a replica has reached of it, as `SYSTEM:TIMELINE:LSN`; null where that is not known. */
  readonly position: string | null;
  /** What a discovery source that knows about failovers says of it; null where none does. */
  readonly confirmedRole: "primary" | "replica" | null;
}

/** The servers as they are judged now, the primary first. */
export function hostStatuses(servers: readonly Server[], snapshot: HostSnapshot, nowMs: number): readonly HostStatus[] {
  const states = new Map(snapshot.replicas.map((state) => [state.host.name, state]));
  const statuses = servers.map((server): HostStatus => {
    const { role, reason } = server.role;
    const state = states.get(server.name);
    const answers = server.facts !== undefined || server.misses === 0;
    const known = { ...said(server, snapshot, nowMs), host: server.name, role };
    if (role === "primary" || !state) {
      const why = role === "none" ? reason : answers ? "" : server.missReason;
      return { ...known, usable: role !== "none" && answers, reason: why, lagBytes: null, lagSeconds: null };
    }
    const lagSeconds = state.lagMs === undefined ? null : state.lagMs / 1000;
    return { ...known, usable: state.usable, reason: state.reason, lagBytes: state.lagBytes ?? null, lagSeconds };
  });
  return [...statuses.filter(({ role }) => role === "primary"), ...statuses.filter(({ role }) => role !== "primary")];
}

function said({ facts, listed }: Server, { primary }: HostSnapshot, nowMs: number) {
  const position = facts && (writtenPosition(facts) ?? reachedPosition(facts, primary?.position));
  return {
    timeline: facts?.timeline || null,
    inRecovery: facts?.inRecovery ?? null,
    readOnly: facts?.readOnly ?? null,
    checkedMsAgo: facts ? nowMs - facts.checkedAtMs : null,
    position: position ? formatPosition(position) : null,
    confirmedRole: listed.verdict ?? null,
  };
}
