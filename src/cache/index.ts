export {
  createRepositoryCache,
  defaultRepositoryCacheOptions,
  type RepositoryCacheDeps,
  type RepositoryCacheOptions,
} from "./create-repository-cache.ts";
export type { RepositoryCache, RepositoryLease } from "./repository-cache.ts";
