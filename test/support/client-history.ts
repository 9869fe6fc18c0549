/** One write of a client: it puts `value`, greater than all before, into the register `key`. */
export interface WriteEvent {
  readonly session: number;
  readonly key: string;
  readonly value: number;
  readonly startMs: number;
  readonly endMs: number;
  /** What the client was told: it was done, it certainly was not, or nobody knows. */
  readonly outcome: "acknowledged" | "refused" | "unknown";
  /** When its session had ended: from then on, sessions with the key must see it. */
  readonly publishedMs: number;
}

/** One read of a register. */
export interface ReadEvent {
  readonly session: number;
  /** When its session began. */
  readonly sessionMs: number;
  /** Whether its session sticks to the key. */
  readonly sticky: boolean;
  readonly key: string;
  readonly startMs: number;
  readonly endMs: number;
  /** Undefined: it failed. */
  readonly value: number | undefined;
}

/** What clients did and were told. */
export interface ClientHistory {
  readonly writes: readonly WriteEvent[];
  readonly reads: readonly ReadEvent[];
}

/**
 * What in a history must not be, as sentences; empty where all is well. `found` are the values that were there at the end.
 * An acknowledged write is there, a refused one is not; a read sees what its own session, or a session with its key that had
 * ended before, was told is done; within a session nothing becomes older; nothing is read that nobody wrote.
 */
export function brokenPromises({ writes, reads }: ClientHistory, found: ReadonlySet<number>): string[] {
  const broken: string[] = [];
  for (const { key, value, outcome } of writes) {
    if (outcome === "acknowledged" && !found.has(value)) broken.push(`lost: ${value} of ${key} was acknowledged`);
    if (outcome === "refused" && found.has(value)) broken.push(`done all the same: ${value} of ${key} was refused`);
  }
  const byValue = new Map(writes.map((write) => [write.value, write]));
  const byKey = groupedByKey(writes);
  const newest = new Map<number, ReadEvent>();
  for (const read of [...reads].sort((a, b) => a.startMs - b.startMs)) {
    const { value, key } = read;
    if (value === undefined) continue;
    const write = byValue.get(value);
    if (value !== 0 && (write?.key !== key || write.outcome === "refused" || write.startMs > read.endMs)) {
      broken.push(`invented: ${value} of ${key}`);
    }
    const own = (byKey.get(key) ?? []).filter((write) => mustSee(read, write)).reduce((most, write) => Math.max(most, write.value), 0);
    if (value < own)
      broken.push(`stale: ${value} of ${key}, whose caller had been told that ${own} is done, at ${Math.round(read.startMs)} ms`);
    const before = newest.get(read.session);
    if (before?.value !== undefined && before.key === key && before.endMs <= read.startMs && value < before.value) {
      broken.push(`backwards: ${value} of ${key} after ${before.value} in one session`);
    }
    newest.set(read.session, read);
  }
  return broken;
}

function mustSee(read: ReadEvent, write: WriteEvent): boolean {
  if (write.outcome !== "acknowledged") return false;
  return write.session === read.session ? write.endMs <= read.startMs : read.sticky && write.publishedMs <= read.sessionMs;
}

function groupedByKey(writes: readonly WriteEvent[]): Map<string, WriteEvent[]> {
  const groups = new Map<string, WriteEvent[]>();
  for (const write of writes) groups.set(write.key, [...(groups.get(write.key) ?? []), write]);
  return groups;
}

/** The longest time between two of these moments, from `fromMs` on; the last one counts to `toMs`. */
export function longestGapMs(moments: readonly number[], fromMs: number, toMs: number): number {
  const within = moments.filter((ms) => ms >= fromMs && ms <= toMs).sort((a, b) => a - b);
  return [...within, toMs].reduce(({ longest, last }, ms) => ({ longest: Math.max(longest, ms - last), last: ms }), {
    longest: 0,
    last: fromMs,
  }).longest;
}
