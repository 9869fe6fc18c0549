import type { Contender } from "./db-contender.ts";

/** What a contender is asked to do. */
export interface Load {
  /** Statements that come before, and are not measured. */
  readonly warmUp: number;
  readonly ms: number;
  /** Callers, each of which sends its next statement when it has the answer to the last. */
  readonly concurrency: number;
  /** Share of statements that write, 0 to 1. */
  readonly writeShare: number;
}

/** What came of it. */
export interface LoadResult {
  readonly perSecond: number;
  /** Processor time of this process, all its threads, for each statement. */
  readonly cpuUs: number;
}

const rows = 10_000;

/** The table that is read and written. */
export const benchTable = `
  CREATE TABLE bench_item (id int PRIMARY KEY, name text NOT NULL, amount int NOT NULL);
  INSERT INTO bench_item SELECT i, 'item ' || i, 0 FROM generate_series(1, ${rows}) AS i`;

/** A point read; `$1` is an id. */
export const pointRead = "SELECT id, name, amount FROM bench_item WHERE id = $1";
const pointWrite = "UPDATE bench_item SET amount = amount + 1 WHERE id = $1";
const statementsPerUnit = 10;
const maxWarmUpMs = 10_000;

/** An id that exists, another one for each `n`. */
export function benchId(n: number): number {
  return 1 + ((n * 7919) % rows);
}

/** Sends point reads, and point writes among them. */
export async function runLoad(contender: Contender, load: Load): Promise<LoadResult> {
  const { concurrency, writeShare } = load;
  const writeEvery = writeShare > 0 ? Math.round(1 / writeShare) : Number.POSITIVE_INFINITY;
  let sent = 0;
  const unit = async () => {
    for (let i = 0; i < statementsPerUnit; i++) {
      const writes = ++sent % writeEvery === 0;
      await (writes ? contender.write(pointWrite, [benchId(sent)]) : contender.read(pointRead, [benchId(sent)]));
    }
  };
  const all = (goesOn: () => boolean) =>
    Promise.all(
      Array.from({ length: concurrency }, async () => {
        while (goesOn()) await contender.unit(unit);
      }),
    );
  const enoughMs = performance.now() + maxWarmUpMs;
  await all(() => sent < load.warmUp && performance.now() < enoughMs);
  sent = 0;
  const before = process.cpuUsage();
  const startMs = performance.now();
  await all(() => performance.now() - startMs < load.ms);
  const elapsedMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(before);
  return { perSecond: (sent * 1000) / elapsedMs, cpuUs: (user + system) / sent };
}
