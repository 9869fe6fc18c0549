export { createServer, type ServerOverrides } from "./create-server.ts";
export type { GitalyServer } from "./gitaly-server.ts";
export { type RebuildCatalogOptions, rebuildCatalog } from "./rebuild-catalog.ts";
export { type CheckResult, runChecks } from "./run-checks.ts";
export { type WatchedPrimary, watchDatabase } from "./watch-database.ts";
