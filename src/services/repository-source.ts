import { type CatalogChange, type RepositorySource, removal } from "../catalog/index.ts";
import type { RepositoryScan } from "../storage/index.ts";
import { catalogEntry } from "./catalog-entry.ts";

/** The store's repositories as the rows that the catalog should have. */
export function createRepositorySource(scan: RepositoryScan): RepositorySource {
  return {
    pages: (signal) => scan.pages(signal),
    hasNewer: (path, generation, signal) => scan.hasNewer(path, generation, signal),
    newest: async (repository, signal): Promise<CatalogChange | undefined> => {
      const newest = await scan.newest(repository, signal);
      if (!newest) return undefined;
      const { path, repoId, n, createdAtMs, writtenAtMs } = newest;
      if (newest.state === "deleted") return removal({ path, repoId, generation: n, createdAtMs, updatedAtMs: writtenAtMs });
      return { ...catalogEntry(newest, await scan.refCount(newest, signal)), removed: false };
    },
  };
}
