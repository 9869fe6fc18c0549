export type { RepositoryCache, RepositoryLease } from "./repository-cache.ts";
