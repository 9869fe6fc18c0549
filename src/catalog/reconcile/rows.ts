import type { LoadBalancer } from "../../db/index.ts";
import { type CatalogChange, columnParameters, columns, columnValues, entryOf, inWriteOrder, type Row } from "../statements.ts";
import type { Repair } from "./plan.ts";

type RowWithState = Row & { readonly removed: boolean };

const pageText = `SELECT ${columns} FROM gitaly.repositories WHERE path > $1 ORDER BY path LIMIT $2`;

const pathsText = `SELECT ${columns} FROM gitaly.repositories WHERE path = ANY($1::text[])`;

const insertText = `
  INSERT INTO gitaly.repositories (${columns})
  SELECT * FROM unnest(${columnParameters})
  ON CONFLICT (path) DO NOTHING
  RETURNING path`;

// Locked in the order that every writer has, and only where nobody wrote a row since it was seen.
const updateText = `
  WITH wanted AS (
    SELECT * FROM unnest(${columnParameters}, $13::text[], $14::bigint[], $15::boolean[]) WITH ORDINALITY
      AS w(${columns}, seen_repo_id, seen_generation, seen_removed, place)
  ), locked AS MATERIALIZED (
    SELECT known.path FROM gitaly.repositories AS known JOIN wanted AS w ON w.path = known.path
    WHERE known.repo_id = w.seen_repo_id AND known.generation = w.seen_generation AND known.removed = w.seen_removed
    ORDER BY w.place FOR UPDATE OF known
  )
  UPDATE gitaly.repositories AS known SET
    repo_id = w.repo_id,
    object_format = w.object_format,
    head = w.head,
    generation = w.generation,
    size_bytes = w.size_bytes,
    ref_count = w.ref_count,
    pack_count = w.pack_count,
    replicas = w.replicas,
    created_at_ms = w.created_at_ms,
    updated_at_ms = w.updated_at_ms,
    removed = w.removed
  FROM wanted AS w JOIN locked ON locked.path = w.path
  WHERE known.path = w.path
    AND known.repo_id = w.seen_repo_id AND known.generation = w.seen_generation AND known.removed = w.seen_removed
  RETURNING known.path`;

/** Rows in byte order of their paths, of removed repositories too, as the primary has them. */
export async function rowsAfter(database: LoadBalancer, after: string, limit: number, signal: AbortSignal): Promise<CatalogChange[]> {
  return await changes(database, pageText, [after, limit], signal);
}

/** The rows of these paths. */
export async function rowsOf(database: LoadBalancer, paths: readonly string[], signal: AbortSignal): Promise<CatalogChange[]> {
  return paths.length === 0 ? [] : await changes(database, pathsText, [paths], signal);
}

/** Writes repairs, of distinct paths, where the catalog still holds what they rest on; returns the paths that were written. */
export async function writeRepairs(database: LoadBalancer, repairs: readonly Repair[], signal: AbortSignal): Promise<Set<string>> {
  const sorted = inWriteOrder(repairs, ({ row }) => row.path);
  const additions = sorted.filter(({ seen }) => seen === undefined).map(({ row }) => row);
  const changed = sorted.flatMap(({ row, seen }) => (seen ? [{ row, seen }] : []));
  const written = new Set<string>();
  const write = async (text: string, values: unknown[][]) => {
    const { rows } = await database.query<{ path: string }>(text, values, { signal });
    for (const { path } of rows) written.add(path);
  };
  if (additions.length > 0) await write(insertText, columnValues(additions));
  if (changed.length > 0) {
    const seen = [
      changed.map((repair) => repair.seen.repoId),
      changed.map((repair) => repair.seen.generation),
      changed.map((repair) => repair.seen.removed),
    ];
    await write(updateText, [...columnValues(changed.map(({ row }) => row)), ...seen]);
  }
  return written;
}

/** Whether the catalog's tables are there. */
export async function hasTables(database: LoadBalancer, signal: AbortSignal): Promise<boolean> {
  const text =
    "SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = 'gitaly' AND tablename IN ('repositories', 'reconciliation')";
  const { rows } = await database.usePrimary(() => database.query<{ tables: number }>(text, [], { signal }));
  return rows[0]?.tables === 2;
}

// A replica's older rows would be repaired in vain.
async function changes(database: LoadBalancer, text: string, values: readonly unknown[], signal: AbortSignal): Promise<CatalogChange[]> {
  const { rows } = await database.usePrimary(() => database.query<RowWithState>(text, values, { signal }));
  return rows.map((row) => ({ ...entryOf(row), removed: row.removed }));
}
