export type { Catalog, CatalogCaller, CatalogEntry, CatalogQuery, CatalogToken } from "./catalog.ts";
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresDeps,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from "./embedded/embedded-postgres.ts";
export { type CatalogDeps, type CatalogOptions, createCatalog, defaultCatalogOptions } from "./postgres-catalog.ts";
export { type RebuildOptions, rebuild } from "./reconcile/rebuild.ts";
export type { ReconcileCounts } from "./reconcile/reconcile.ts";
export { Reconciler, type ReconcilerDeps, type ReconcilerOptions } from "./reconcile/reconciler.ts";
export type { RepositorySource, StoredName } from "./reconcile/repository-source.ts";
export { type CatalogChange, removal } from "./statements.ts";
