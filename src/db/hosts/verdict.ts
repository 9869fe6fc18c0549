import type { Position } from "../position/position.ts";
import { reachedPosition, type ServerFacts } from "./server-facts.ts";

/** How far behind a replica may be. It is used if it passes by time or by bytes. */
export interface LagOptions {
  /** The newest replayed transaction may be this old. Default 60000 ms. */
  readonly maxReplicationLagTimeMs: number;
  /** This much of the primary's log may be missing. Default 8 MiB. */
  readonly maxReplicationDifferenceBytes: number;
}

export const defaultLagOptions: LagOptions = { maxReplicationLagTimeMs: 60_000, maxReplicationDifferenceBytes: 8 * 1024 * 1024 };

/** Switches that ease the time limit while operators work on something. */
export interface LagSwitches {
  /** Every replica passes by time. */
  readonly ignoreReplicationLagTime: boolean;
  /** The time limit counts twice. */
  readonly doubleReplicationLagTime: boolean;
}

/** The newest place in the primary's log that is known, and whether the primary still answers. */
export interface KnownPrimary {
  readonly position: Position | undefined;
  readonly answers: boolean;
}

/** Whether a server may serve reads. */
export interface Verdict {
  readonly usable: boolean;
  /** Why not; "" where it is usable. */
  readonly reason: "" | "lag" | "lag_unknown" | "origin_unknown";
  /** The primary could not be asked: the judgement rests on older or on the replica's own data. */
  readonly stale: boolean;
  /** Missing bytes of the primary's log, as of its last known end. */
  readonly lagBytes: number | undefined;
  readonly lagMs: number | undefined;
}

/** Judges a server that is a replica, from what it and the primary said last. Nothing unknown counts as good. */
export function judge(facts: ServerFacts, primary: KnownPrimary, before: Verdict | undefined, limits: LagOptions & LagSwitches): Verdict {
  const lagBytes = bytesBehind(facts, primary.position);
  const measured = { stale: !primary.answers, lagBytes, lagMs: facts.replayDelayMs };
  const usable: Verdict = { usable: true, reason: "", ...measured };
  // Asked for its role only: there is nothing to compare it with.
  if (facts.systemId === "" || passesByTime(facts, limits)) return usable;
  if (lagBytes !== undefined && lagBytes <= limits.maxReplicationDifferenceBytes) return usable;
  // What is missing by the primary's own word is missing, whether it answers now or not.
  if (lagBytes !== undefined) return { usable: false, reason: "lag", ...measured };
  // Out of recovery and not written to yet: on its way to be the primary, and nobody has more.
  if (!facts.inRecovery && facts.readOnly && facts.systemId === primary.position?.systemId) return usable;
  if (!facts.inRecovery) return { usable: false, reason: "origin_unknown", ...measured };
  const behindReceived = notReplayed(facts);
  if (behindReceived === undefined) return { usable: false, reason: "lag_unknown", ...measured };
  if (behindReceived > limits.maxReplicationDifferenceBytes) return { usable: false, reason: "lag", ...measured };
  if (behindReceived === 0 && facts.streaming) return usable;
  if (primary.answers) return { usable: false, reason: "lag_unknown", ...measured };
  // With the primary away nothing newer is to be had: what was fine stays so, and what has replayed all it received is.
  return before?.reason === "lag" && behindReceived > 0 ? { ...before, ...measured } : usable;
}

function passesByTime({ replayDelayMs, inRecovery }: ServerFacts, limits: LagOptions & LagSwitches): boolean {
  if (!inRecovery) return false;
  if (limits.ignoreReplicationLagTime) return true;
  const limitMs = limits.maxReplicationLagTimeMs * (limits.doubleReplicationLagTime ? 2 : 1);
  return replayDelayMs !== undefined && replayDelayMs <= limitMs;
}

/** Bytes between a replica and the primary's last known end; undefined where the two logs cannot be compared. */
function bytesBehind(facts: ServerFacts, primary: Position | undefined): number | undefined {
  const reached = reachedPosition(facts, primary);
  if (!reached || !primary || reached.systemId !== primary.systemId) return undefined;
  // A standby learns of a new timeline late; one that still follows is on it.
  if (reached.timeline !== primary.timeline && !facts.streaming) return undefined;
  return Math.max(0, Number(primary.lsn - reached.lsn));
}

/** Bytes received but not replayed. After a restart nothing may have been received yet, or only a segment's start. */
function notReplayed({ receiveLsn, replayLsn }: ServerFacts): number | undefined {
  if (replayLsn === undefined) return undefined;
  if (receiveLsn === undefined || receiveLsn <= replayLsn) return 0;
  return Number(receiveLsn - replayLsn);
}
