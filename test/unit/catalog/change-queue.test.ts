import fc from "fast-check";
import { expect, test } from "vitest";
import { ChangeQueue } from "../../../src/catalog/change-queue.ts";
import type { CatalogChange } from "../../../src/catalog/statements.ts";

const change = (fields: Partial<CatalogChange>): CatalogChange => ({
  ...{ path: "a.git", repoId: "r1", objectFormat: "sha1", head: "refs/heads/main", generation: 1, sizeBytes: 0, refCount: 0 },
  ...{ packCount: 0, replicas: 0, createdAtMs: 10, updatedAtMs: 10, removed: false },
  ...fields,
});

test("of several changes of one path the newest is left, whatever their order", () => {
  fc.assert(
    fc.property(fc.shuffledSubarray([1, 2, 3, 4, 5], { minLength: 1 }), (generations) => {
      const queue = new ChangeQueue(10);
      for (const generation of generations) queue.add(change({ generation }));
      expect(queue.peek(10).map((entry) => entry.generation)).toEqual([Math.max(...generations)]);
    }),
  );
});

test("another repository of the same path wins by its later birth, also with a smaller generation", () => {
  const queue = new ChangeQueue(10);
  queue.add(change({ repoId: "old", generation: 50, createdAtMs: 10 }));
  queue.add(change({ repoId: "new", generation: 1, createdAtMs: 20 }));
  expect(queue.peek(10).map((entry) => entry.repoId)).toEqual(["new"]);
});

test("a change that came while an older one was written stays", () => {
  const queue = new ChangeQueue(10);
  queue.add(change({ generation: 1 }));
  const batch = queue.peek(10);
  queue.add(change({ generation: 2 }));
  queue.done(batch);
  expect(queue.peek(10).map((entry) => entry.generation)).toEqual([2]);
  queue.done(queue.peek(10));
  expect(queue.size).toBe(0);
});

test("a full queue takes newer states of its paths and refuses new paths", () => {
  const queue = new ChangeQueue(2);
  expect(queue.add(change({ path: "a" }))).toBe(true);
  expect(queue.add(change({ path: "b" }))).toBe(true);
  expect(queue.add(change({ path: "c" }))).toBe(false);
  expect(queue.add(change({ path: "a", generation: 2 }))).toBe(true);
  expect(queue.peek(10).map(({ path, generation }) => [path, generation])).toEqual([
    ["a", 2],
    ["b", 1],
  ]);
});
