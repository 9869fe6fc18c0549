import type { LoadBalancer, QueryOptions } from "../db/index.ts";
import type { CatalogEntry, CatalogQuery } from "./catalog.ts";

/** A change to note: a repository's state at a generation, or its removal. */
export interface CatalogChange extends CatalogEntry {
  readonly removed: boolean;
}

/** The change that notes a removal: all that is kept of it is who, when and where. */
export function removal(of: Pick<CatalogEntry, "path" | "repoId" | "generation" | "createdAtMs" | "updatedAtMs">): CatalogChange {
  const { path, repoId, generation, createdAtMs, updatedAtMs } = of;
  const nothing = { objectFormat: "sha1", head: "", sizeBytes: 0, refCount: 0, packCount: 0, replicas: 0 } as const;
  return { ...nothing, path, repoId, generation, createdAtMs, updatedAtMs, removed: true };
}

/** Whether `change` is newer than `than`; the same rule as in `upsertText`. */
export function supersedes(change: CatalogChange, than: CatalogChange): boolean {
  return change.generation > than.generation || (change.repoId !== than.repoId && change.createdAtMs > than.createdAtMs);
}

/** The columns of a row, in the order of `columnValues`. */
export const columns =
  "path, repo_id, object_format, head, generation, size_bytes, ref_count, pack_count, replicas, created_at_ms, updated_at_ms, removed";

/** The arrays of `columnValues` as parameters that `unnest` takes. */
export const columnParameters = `
    $1::text[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::bigint[],
    $7::bigint[], $8::bigint[], $9::integer[], $10::bigint[], $11::bigint[], $12::boolean[]`;

// Generations of a path only grow, also over a removal; another id with a later birth is a repository of a newer store.
const upsertText = `
  INSERT INTO gitaly.repositories AS known (${columns})
  SELECT * FROM unnest(${columnParameters})
  ON CONFLICT (path) DO UPDATE SET
    repo_id = excluded.repo_id,
    object_format = excluded.object_format,
    head = excluded.head,
    generation = excluded.generation,
    size_bytes = excluded.size_bytes,
    ref_count = excluded.ref_count,
    pack_count = excluded.pack_count,
    replicas = excluded.replicas,
    created_at_ms = CASE WHEN excluded.removed THEN greatest(known.created_at_ms, excluded.created_at_ms) ELSE excluded.created_at_ms END,
    updated_at_ms = excluded.updated_at_ms,
    removed = excluded.removed
  WHERE excluded.generation > known.generation
    OR (excluded.repo_id <> known.repo_id AND excluded.created_at_ms > known.created_at_ms)`;

const findText = `SELECT ${columns} FROM gitaly.repositories WHERE path = $1 AND NOT removed`;

const listText = `
  SELECT ${columns} FROM gitaly.repositories
  WHERE path > $1 AND path ^@ $2 AND NOT removed
  ORDER BY path LIMIT $3`;

/** A row as the server gives it. */
export interface Row {
  readonly path: string;
  readonly repo_id: string;
  readonly object_format: "sha1" | "sha256";
  readonly head: Buffer;
  readonly generation: string;
  readonly size_bytes: string;
  readonly ref_count: string;
  readonly pack_count: string;
  readonly replicas: number;
  readonly created_at_ms: string;
  readonly updated_at_ms: string;
}

/** The live repository that a row describes. */
export function entryOf(row: Row): CatalogEntry {
  return {
    path: row.path,
    repoId: row.repo_id,
    objectFormat: row.object_format,
    head: row.head.toString("latin1"),
    generation: Number(row.generation),
    sizeBytes: Number(row.size_bytes),
    refCount: Number(row.ref_count),
    packCount: Number(row.pack_count),
    replicas: row.replicas,
    createdAtMs: Number(row.created_at_ms),
    updatedAtMs: Number(row.updated_at_ms),
  };
}

/** Changes as one array per column. */
export function columnValues(changes: readonly CatalogChange[]): unknown[][] {
  const column = (value: (change: CatalogChange) => unknown) => changes.map(value);
  return [
    column((change) => change.path),
    column((change) => change.repoId),
    column((change) => change.objectFormat),
    column((change) => Buffer.from(change.head, "latin1")),
    column((change) => change.generation),
    column((change) => change.sizeBytes),
    column((change) => change.refCount),
    column((change) => change.packCount),
    column((change) => change.replicas),
    column((change) => change.createdAtMs),
    column((change) => change.updatedAtMs),
    column((change) => change.removed),
  ];
}

/** Changes in the one order in which all nodes write them: two batches never wait for each other's rows. */
export function inWriteOrder<T>(items: readonly T[], pathOf: (item: T) => string): T[] {
  return [...items].sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1));
}

/** Writes changes, of distinct paths, unless something newer is there. */
export async function upsertChanges(database: LoadBalancer, changes: readonly CatalogChange[], signal: AbortSignal): Promise<void> {
  const sorted = inWriteOrder(changes, ({ path }) => path);
  await database.query(upsertText, columnValues(sorted), { signal });
}

/** The live repository at a path. */
export async function selectByPath(database: LoadBalancer, path: string, options: QueryOptions): Promise<CatalogEntry | undefined> {
  const { rows } = await database.query<Row>(findText, [path], options);
  return rows[0] && entryOf(rows[0]);
}

/** Live repositories in byte order of their paths. */
export async function selectPage(
  database: LoadBalancer,
  { prefix, after, limit }: CatalogQuery,
  options: QueryOptions,
): Promise<CatalogEntry[]> {
  const { rows } = await database.query<Row>(listText, [after, prefix, limit], options);
  return rows.map(entryOf);
}
