import { expect, test } from "vitest";
import { goesBack, planRepair } from "../../../src/catalog/reconcile/plan.ts";
import { type CatalogChange, removal } from "../../../src/catalog/statements.ts";

const live = (fields: Partial<CatalogChange> = {}): CatalogChange => ({
  ...{ path: "a.git", repoId: "r1", objectFormat: "sha1", head: "refs/heads/main", generation: 3, sizeBytes: 9, refCount: 2, packCount: 1 },
  ...{ replicas: 0, createdAtMs: 100, updatedAtMs: 200, removed: false },
  ...fields,
});
const gone = (fields: Partial<CatalogChange> = {}): CatalogChange => removal({ ...live(), ...fields });
const kindOf = (seen: CatalogChange | undefined, truth: CatalogChange | undefined) => planRepair(seen, truth)?.kind;

test("what is right is left alone", () => {
  expect(kindOf(undefined, undefined)).toBeUndefined();
  expect(kindOf(live(), live())).toBeUndefined();
  // Of a removed repository only who, when and whether counts.
  expect(kindOf(gone({ updatedAtMs: 1, createdAtMs: 0 }), gone())).toBeUndefined();
  expect(kindOf(gone(), undefined)).toBeUndefined();
});

test("what is missing is added, removals too", () => {
  expect(planRepair(undefined, live())).toEqual({ kind: "added", row: live(), seen: undefined });
  expect(planRepair(undefined, gone())).toEqual({ kind: "noted", row: gone(), seen: undefined });
});

test.each([
  ["repoId", "r2"],
  ["objectFormat", "sha256"],
  ["head", "refs/heads/other"],
  ["generation", 2],
  ["generation", 4],
  ["sizeBytes", 10],
  ["refCount", 3],
  ["packCount", 0],
  ["replicas", 3],
  ["createdAtMs", 101],
  ["updatedAtMs", 201],
  ["removed", true],
] as const)("a row whose %s differs is corrected", (field, value) => {
  const seen = live({ [field]: value });
  expect(planRepair(seen, live())).toEqual({ kind: "corrected", row: live(), seen });
});

test("a live row becomes a removed one where the store says so, or never had the repository", () => {
  expect(planRepair(live(), gone({ generation: 4 }))).toMatchObject({ kind: "removed", row: { generation: 4, removed: true } });
  expect(planRepair(live(), undefined)).toEqual({ kind: "removed", row: { ...live(), removed: true }, seen: live() });
  expect(planRepair(gone({ generation: 5 }), gone())).toMatchObject({ kind: "corrected", row: { generation: 3, removed: true } });
});

test("only a repair that takes a row back may have made it refuse notes before", () => {
  const back = (seen: CatalogChange | undefined, truth: CatalogChange | undefined) => {
    const repair = planRepair(seen, truth);
    return repair && goesBack(repair);
  };
  expect(back(live({ generation: 9 }), live())).toBe(true);
  expect(back(live(), undefined)).toBe(true);
  expect(back(live({ generation: 2 }), live())).toBe(false);
  expect(back(live(), gone({ generation: 4 }))).toBe(false);
  expect(back(undefined, live())).toBe(false);
});
