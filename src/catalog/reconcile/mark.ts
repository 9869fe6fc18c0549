import type { LoadBalancer } from "../../db/index.ts";

/** What the catalog's database knows of comparisons with the store; ages by its own clock. */
export interface ReconcileMark {
  readonly clusterId: string;
  /** A run is under way, or its process died less than a lease ago. */
  readonly held: boolean;
  /** The last run that was begun did not end well. */
  readonly unfinished: boolean;
  readonly startedAgeMs: number;
  /** Undefined: none has ended well yet. */
  readonly finishedAgeMs: number | undefined;
  /** There is not one row of a repository. */
  readonly empty: boolean;
}

const ageOf = (column: string) => `(extract(epoch FROM now() - ${column}) * 1000)::float8`;

const readText = `
  SELECT cluster_id, held_until > now() AS held, finished_at IS NULL OR finished_at < started_at AS unfinished,
    ${ageOf("started_at")} AS started_age_ms, ${ageOf("finished_at")} AS finished_age_ms,
    NOT EXISTS (SELECT FROM gitaly.repositories) AS empty
  FROM gitaly.reconciliation`;

const takeText = `
  INSERT INTO gitaly.reconciliation AS mark (singleton, cluster_id, holder, held_until, started_at)
  VALUES (true, $1, $2, now() + $3 * interval '1 ms', now())
  ON CONFLICT (singleton) DO UPDATE SET
    cluster_id = excluded.cluster_id, holder = excluded.holder, held_until = excluded.held_until, started_at = excluded.started_at`;

const claimText = `${takeText}
  WHERE mark.cluster_id = excluded.cluster_id AND mark.held_until <= now()
  RETURNING 1`;

const renewText = `
  UPDATE gitaly.reconciliation SET held_until = now() + $2 * interval '1 ms' WHERE holder = $1 RETURNING 1`;

const endText = `
  UPDATE gitaly.reconciliation SET held_until = now(), finished_at = CASE WHEN $2 THEN now() ELSE finished_at END WHERE holder = $1`;

interface Row {
  readonly cluster_id: string;
  readonly held: boolean;
  readonly unfinished: boolean;
  readonly started_age_ms: number;
  readonly finished_age_ms: number | null;
  readonly empty: boolean;
}

/** Undefined where no run was ever begun. */
export async function readMark(database: LoadBalancer, signal: AbortSignal): Promise<ReconcileMark | undefined> {
  const { rows } = await database.usePrimary(() => database.query<Row>(readText, [], { signal }));
  const [row] = rows;
  return (
    row && {
      clusterId: row.cluster_id,
      held: row.held,
      unfinished: row.unfinished,
      startedAgeMs: row.started_age_ms,
      finishedAgeMs: row.finished_age_ms ?? undefined,
      empty: row.empty,
    }
  );
}

/** Who runs, for which cluster, and for how long that is believed without a further word. */
export interface Holder {
  readonly clusterId: string;
  readonly holder: string;
  readonly leaseMs: number;
}

/** Begins a run unless another one holds the mark, or it is another cluster's. */
export async function claimMark(database: LoadBalancer, by: Holder, signal: AbortSignal): Promise<boolean> {
  const { rows } = await database.query(claimText, [by.clusterId, by.holder, by.leaseMs], { signal });
  return rows.length > 0;
}

/** Begins a run whoever holds the mark. */
export async function takeMark(database: LoadBalancer, by: Holder, signal: AbortSignal): Promise<void> {
  await database.query(takeText, [by.clusterId, by.holder, by.leaseMs], { signal });
}

/** Says that the run goes on; false where somebody else has taken over. */
export async function renewMark(database: LoadBalancer, { holder, leaseMs }: Holder, signal: AbortSignal): Promise<boolean> {
  const { rows } = await database.query(renewText, [holder, leaseMs], { signal });
  return rows.length > 0;
}

/** Ends a run; `whole` where it came to its end. */
export async function endMark(database: LoadBalancer, holder: string, whole: boolean, signal: AbortSignal): Promise<void> {
  await database.query(endText, [holder, whole], { signal });
}
