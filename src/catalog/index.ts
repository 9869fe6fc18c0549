export type { Catalog, CatalogEntry } from "./catalog.ts";
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresDeps,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from "./embedded/embedded-postgres.ts";
export { type CatalogDeps, type CatalogOptions, createCatalog, defaultCatalogOptions } from "./postgres-catalog.ts";
