import type { ServerFacts } from "./server-facts.ts";

/** A listed server, for the decision who is what. */
export interface Candidate {
  readonly name: string;
  /** What the configuration calls it. Who listens to it only before the first verification. */
  readonly hint: "primary" | "replica" | undefined;
  /** What a source that knows about failovers says; undefined where it says nothing, or there is none. */
  readonly verdict: "primary" | "replica" | undefined;
  /** False for servers that only ever serve reads. */
  readonly mayWrite: boolean;
  /** The newest answer; undefined where it does not answer. */
  readonly facts: ServerFacts | undefined;
  /** It has not answered since. */
  readonly missed?: boolean;
}

/** Which log is the true one. Once known, no server with another one becomes primary. */
interface Identity {
  readonly systemId: string;
  /** The newest timeline that a primary was seen on. */
  readonly timeline: number;
}

/** What a server may be used for. */
export interface RoleVerdict {
  readonly role: "primary" | "replica" | "none";
  /** Why it is neither; "" otherwise. */
  readonly reason: string;
}

/** Who is what. */
export interface Topology {
  readonly identity: Identity | undefined;
  /** Where writes go; undefined: nowhere. */
  readonly primary: string | undefined;
  /** Whether that server itself said so in its last answer. */
  readonly verified: boolean;
  readonly roles: ReadonlyMap<string, RoleVerdict>;
  /** Servers that accept writes and between which nothing decides: writes are refused. */
  readonly conflict: readonly string[];
}

/**
 * Decides who is primary: a server that says it is not in recovery and accepts writes, whose log is the known one and no older
 * than the newest timeline seen, and that the source of verdicts, where there is one, calls primary. Where that leaves two, the
 * later timeline; where that leaves two, none. A primary that does not answer stays it until another one is found: only its own
 * answer, or another's promotion, ends it.
 */
export function decideTopology(candidates: readonly Candidate[], before: Pick<Topology, "identity" | "primary">): Topology {
  const { identity } = before;
  const eligible = distinct(
    candidates.filter((one) => writes(one) && ineligible(one, candidates, identity) === ""),
    before.primary,
  );
  const latest = Math.max(...eligible.map((one) => one.facts?.timeline ?? 0));
  const best = eligible.filter((one) => one.facts?.timeline === latest);
  const chosen = best.length === 1 ? best[0] : undefined;
  const primary = chosen?.name ?? (best.length > 1 ? undefined : remaining(candidates, before.primary));
  const known = chosen?.facts?.systemId ? { systemId: chosen.facts.systemId, timeline: chosen.facts.timeline } : identity;
  return {
    identity: known,
    primary,
    verified: chosen !== undefined,
    roles: new Map(
      candidates.map((one) => [
        one.name,
        roleOf(one, candidates, { primary, identity: known, verified: chosen !== undefined && chosen.missed !== true }),
      ]),
    ),
    conflict: best.length > 1 ? best.map((one) => one.name) : [],
  };
}

function writes({ facts, mayWrite }: Candidate): boolean {
  return mayWrite && facts !== undefined && !facts.inRecovery && !facts.readOnly;
}

/** Why a server that accepts writes is not to be written to; "" where nothing speaks against it. */
function ineligible(one: Candidate, all: readonly Candidate[], identity: Identity | undefined): string {
  const { facts } = one;
  if (!facts) return "";
  const source = sourceReason(one, all, identity);
  if (source !== "" || facts.systemId === "") return source;
  if (identity) {
    if (facts.systemId !== identity.systemId) return "foreign_system";
    return facts.timeline < identity.timeline ? "old_timeline" : "";
  }
  if (one.hint !== "replica" || one.verdict === "primary") return "";
  // Nothing known yet, and configured as a replica: a promoted one, or a logical replica, or something else altogether.
  const siblings = all.filter((other) => other !== one && other.facts?.systemId === facts.systemId);
  return siblings.some((other) => other.hint === "primary" || (other.facts?.inRecovery && !facts.subscriber)) ? "" : "not_verified";
}

function sourceReason(one: Candidate, all: readonly Candidate[], identity: Identity | undefined): string {
  if (all.some((other) => other.verdict === "primary")) return one.verdict === "primary" ? "" : "not_confirmed";
  // The source is between two states: only a promotion that shows in the timeline is taken without its word.
  return one.verdict === "replica" && identity && (one.facts?.timeline ?? 0) <= identity.timeline ? "not_confirmed" : "";
}

/** One server under two names counts once; the name in use is kept. */
function distinct(writers: readonly Candidate[], inUse: string | undefined): Candidate[] {
  const byServer = new Map<string | undefined, Candidate>();
  for (const one of writers) {
    const key = serverKey(one.facts);
    const other = byServer.get(key);
    if (!other || one.name === inUse || (one.hint === "primary" && other.name !== inUse)) byServer.set(key, one);
  }
  return [...byServer.values()];
}

function serverKey(facts: ServerFacts | undefined): string | undefined {
  return facts && `${facts.systemId} ${facts.startedAt}`;
}

function remaining(candidates: readonly Candidate[], name: string | undefined): string | undefined {
  const one = candidates.find((candidate) => candidate.name === name);
  if (!one?.mayWrite || one.facts) return undefined;
  // The source has named another one: the old primary may be alive where we do not see it.
  return one.verdict === "replica" ? undefined : name;
}

function roleOf(
  one: Candidate,
  all: readonly Candidate[],
  { primary, identity, verified }: Pick<Topology, "primary" | "identity" | "verified">,
): RoleVerdict {
  const { facts } = one;
  if (one.name === primary) return { role: "primary", reason: "" };
  if (!facts) return { role: "replica", reason: "" };
  const ours = !identity || facts.systemId === "" || facts.systemId === identity.systemId;
  if (facts.inRecovery) return ours ? { role: "replica", reason: "" } : { role: "none", reason: "foreign_system" };
  if (facts.subscriber && (!identity || !ours)) return { role: "replica", reason: "" };
  if (!ours) return { role: "none", reason: "foreign_system" };
  // The primary under another name, such as that of a service's readers: whoever lists it wants to read there.
  const leader = all.find((other) => other.name === primary);
  if (serverKey(leader?.facts) === serverKey(facts)) return { role: "replica", reason: "" };
  if (facts.readOnly) {
    // Between two primaries, and in maintenance, it has what there is to read.
    const newest = !verified && facts.timeline >= (identity?.timeline ?? 0);
    return newest ? { role: "replica", reason: "" } : { role: "none", reason: "demoted" };
  }
  return { role: "none", reason: ineligible(one, all, identity) || "second_primary" };
}
