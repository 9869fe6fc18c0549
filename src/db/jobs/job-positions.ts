import { type Clock, CodedError } from "../../base/index.ts";
import { formatPosition, type Position, parsePosition } from "../position/position.ts";

/** What a job must see of one database, and which role said so. */
export interface CapturedPosition {
  readonly position: string;
  readonly source: "primary" | "replica";
}

/** What a job must see, per database: plain data that travels with it. Databases without replicas are missing. */
export type JobPositions = Readonly<Record<string, CapturedPosition>>;

/** How fresh a job's reads must be. "always": the primary's. "sticky": not before what it was captured with. "delayed": rather later than from the primary. */
export type DataConsistency = "always" | "sticky" | "delayed";

/** How a job is checked. */
export interface JobOptions {
  /** Waits for replicas: "high" looks 5 times after 100 ms each, "default" 3 times after 500 ms each. Default "default". */
  readonly profile?: "high" | "default";
  /** One for all databases, or by database. Default "sticky". */
  readonly dataConsistency?: DataConsistency | Readonly<Record<string, DataConsistency>>;
  /** It was put back once already, with the strategy "retry". Default false. */
  readonly retried?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Where a job's reads go. "replica": replicas have what it needs. "replica_retried": so they have, since it was put back.
 * "primary": they have not, or it always reads there. "primary_no_wal": nothing was captured. "retry": put it back, once.
 */
export type JobStrategy = "primary" | "primary_no_wal" | "replica" | "replica_retried" | "retry";

/** The outcome of a check, for `session({ job })`. */
export interface JobCheck {
  readonly strategy: JobStrategy;
  readonly positions: JobPositions;
  /** Databases whose primary it reads, whatever the strategy. */
  readonly always: readonly string[];
}

/** A database that a job reads. */
export interface CheckedDatabase {
  readonly name: string;
  /** Whether some usable server has reached a position. */
  hasReached(position: Position): Promise<boolean>;
}

const profiles = {
  high: { looks: 5, waitMs: 100 },
  default: { looks: 3, waitMs: 500 },
};

const maxDatabases = 64;

/** Writes a captured position down. */
export function captured(position: Position, source: "primary" | "replica"): CapturedPosition {
  return { position: formatPosition(position), source };
}

/** Finds out where a job's reads may go, and waits a little for replicas. `positions` comes with the job and may be anything. */
export async function checkJob(
  positions: unknown,
  options: JobOptions,
  databases: readonly CheckedDatabase[],
  deps: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<JobCheck> {
  const { profile = "default", dataConsistency = "sticky", retried = false } = options;
  const consistencyOf = (name: string) => (typeof dataConsistency === "string" ? dataConsistency : (dataConsistency[name] ?? "sticky"));
  const always = databases.map(({ name }) => name).filter((name) => consistencyOf(name) === "always");
  const readable = jobPositions(positions);
  const outcome = (strategy: JobStrategy): JobCheck => ({ strategy, positions: readable, always });
  const followed = databases.filter(({ name }) => consistencyOf(name) !== "always");
  if (followed.length === 0) return outcome("primary");
  if (Object.keys(readable).length === 0) return outcome("primary_no_wal");
  const { looks, waitMs } = profiles[profile];
  // Nobody waits twice for a database that has what is needed.
  let behind: readonly CheckedDatabase[] = followed;
  for (let look = 0; ; look++) {
    behind = await notReached(behind, readable);
    if (behind.length === 0) return outcome(retried ? "replica_retried" : "replica");
    if (look >= looks) break;
    await deps.clock.sleep(waitMs, deps.signal);
  }
  const mayRetry = !retried && behind.some(({ name }) => consistencyOf(name) === "delayed");
  return outcome(mayRetry ? "retry" : "primary");
}

/** What a session for a checked job is bound to in one database. Errors: `invalid_argument` for a job that is to be put back. */
export function jobBinding(check: JobCheck, database: string): { readonly primary: boolean; readonly required: readonly Position[] } {
  if (check.strategy === "retry") {
    throw new CodedError("invalid_argument", 'a job with the strategy "retry" is put back, not run', { database });
  }
  if (!check.strategy.startsWith("replica") || check.always.includes(database)) return { primary: true, required: [] };
  const position = parsePosition(check.positions[database]?.position ?? "");
  return { primary: false, required: position ? [position] : [] };
}

async function notReached(databases: readonly CheckedDatabase[], positions: JobPositions): Promise<readonly CheckedDatabase[]> {
  const answers = await Promise.all(
    databases.map(async (database) => {
      const position = parsePosition(positions[database.name]?.position ?? "");
      // Nothing was captured where there was nothing to wait for.
      return position ? await database.hasReached(position) : true;
    }),
  );
  return databases.filter((_, i) => !answers[i]);
}

/** What can be read of `value`; whatever is not a position is dropped. */
function jobPositions(value: unknown): JobPositions {
  if (typeof value !== "object" || value === null) return {};
  const entries = Object.entries(value).slice(0, maxDatabases);
  return Object.fromEntries(
    entries.flatMap(([name, one]) => {
      const { position, source } = (one ?? {}) as { position?: unknown; source?: unknown };
      if (typeof position !== "string" || !parsePosition(position)) return [];
      return [[name, { position, source: source === "replica" ? "replica" : "primary" }] as const];
    }),
  );
}
