import type { CatalogChange } from "../statements.ts";

/** What a repair does: `added` a repository, `noted` that one was removed, `corrected` a row, `removed` a repository that the store does not have. */
export type RepairKind = "added" | "noted" | "corrected" | "removed";

/** A row to write, valid only while the catalog still holds what was seen. */
export interface Repair {
  readonly kind: RepairKind;
  readonly row: CatalogChange;
  /** The row as it was read; undefined: there was none. */
  readonly seen: CatalogChange | undefined;
}

const compared: readonly (keyof CatalogChange)[] = [
  ...(["objectFormat", "head", "sizeBytes", "refCount", "packCount", "replicas", "createdAtMs", "updatedAtMs"] as const),
];

/**
 * The repair that a row needs; undefined where it is right. `truth` is what the store said **after** the row was read, so that a row
 * of a later generation than that is not of this store; undefined: the store never had the repository.
 */
export function planRepair(seen: CatalogChange | undefined, truth: CatalogChange | undefined): Repair | undefined {
  if (!seen) return truth && { kind: truth.removed ? "noted" : "added", row: truth, seen };
  // Its removed row is kept, as for one that was removed: a late note of the store that had it cannot bring it back.
  if (!truth) return seen.removed ? undefined : { kind: "removed", row: { ...seen, removed: true }, seen };
  if (isRight(seen, truth)) return undefined;
  return { kind: truth.removed && !seen.removed ? "removed" : "corrected", row: truth, seen };
}

/** Whether a repair takes a row back: the ordinary notes of the time before it were refused as older than the row. */
export function goesBack({ row, seen }: Repair): boolean {
  return seen !== undefined && (row.generation < seen.generation || (row.removed && row.generation === seen.generation));
}

function isRight(seen: CatalogChange, truth: CatalogChange): boolean {
  if (seen.removed !== truth.removed || seen.generation !== truth.generation || seen.repoId !== truth.repoId) return false;
  return truth.removed || compared.every((field) => seen[field] === truth[field]);
}
