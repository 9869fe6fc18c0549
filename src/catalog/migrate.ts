import type { LoadBalancer } from "../db/index.ts";
import { repositories } from "./migrations/0001-repositories.ts";
import { reconciliation } from "./migrations/0002-reconciliation.ts";
import type { Migration } from "./migrations/migration.ts";

const migrations: readonly Migration[] = [repositories, reconciliation];

// One number for all nodes, of any version.
const migrationLock = 0x6769_7462;

/** Brings the schema up to date; nodes that do so at once take turns. Returns the versions that were applied. */
export async function migrate(database: LoadBalancer, signal: AbortSignal): Promise<readonly number[]> {
  return await database.transaction({ signal }, async (tx) => {
    await tx.query("SELECT pg_advisory_xact_lock($1)", [migrationLock]);
    // IF NOT EXISTS asks for the right to create even where there is nothing to create.
    const { rows: schemas } = await tx.query("SELECT 1 FROM pg_namespace WHERE nspname = 'gitaly'");
    if (schemas.length === 0) await tx.query("CREATE SCHEMA gitaly");
    const { rows: tables } = await tx.query("SELECT 1 FROM pg_tables WHERE schemaname = 'gitaly' AND tablename = 'schema_migrations'");
    if (tables.length === 0) {
      await tx.query(
        "CREATE TABLE gitaly.schema_migrations (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL)",
      );
    }
    const { rows } = await tx.query<{ version: number }>("SELECT version FROM gitaly.schema_migrations");
    const applied = new Set(rows.map((row) => row.version));
    const missing = migrations.filter((migration) => !applied.has(migration.version));
    for (const { sql, version, name } of missing) {
      await tx.query(sql);
      await tx.query("INSERT INTO gitaly.schema_migrations (version, name, applied_at) VALUES ($1, $2, now())", [version, name]);
    }
    return missing.map((migration) => migration.version);
  });
}
