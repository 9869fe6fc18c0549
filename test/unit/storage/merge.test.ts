import fc from "fast-check";
import { expect, test } from "vitest";
import { mergeGroup } from "../../../src/storage/merge.ts";
import { emptyRefTable } from "../../../src/storage/packed-refs.ts";
import { applyUpdates } from "../../../src/storage/ref-stack.ts";
import type { RefResult, RefUpdate } from "../../../src/storage/repository-storage.ts";

const oid = (digit: string) => digit.repeat(40);
const table = (refs: Readonly<Record<string, string>>) =>
  applyUpdates(
    emptyRefTable("sha1"),
    Object.entries(refs).map(([ref, digit]) => ({ ref: `refs/heads/${ref}`, oldOid: oid("0"), newOid: oid(digit) })),
    "sha1",
  );
/** "a 0 1": refs/heads/a from 000… to 111…. */
const update = (text: string): RefUpdate => {
  const [ref, before = "", after = ""] = text.split(" ");
  return { ref: `refs/heads/${ref}`, oldOid: oid(before), newOid: oid(after) };
};
const push = (updates: readonly string[], options: { atomic?: boolean; disconnected?: readonly string[] } = {}) => ({
  updates: updates.map(update),
  atomic: options.atomic ?? false,
  disconnected: new Set(options.disconnected?.map((ref) => `refs/heads/${ref}`)),
});
const brief = (results: readonly RefResult[]) => results.map((result) => (result.status === "ok" ? "ok" : result.reason));
const merge = (refs: Readonly<Record<string, string>>, ...pushes: ReturnType<typeof push>[]) => {
  const merged = mergeGroup(table(refs), "sha1", pushes);
  return {
    results: merged.pushes.map(({ results }) => brief(results)),
    changes: merged.changes.map(({ ref, newOid }) => `${ref.slice(11)} ${newOid[0]}`).sort(),
    clean: merged.clean,
  };
};

test("create, change and delete from the expected old value are applied", () => {
  expect(merge({ a: "1", b: "2" }, push(["a 1 3", "b 2 0", "c 0 4"]))).toEqual({
    results: [["ok", "ok", "ok"]],
    changes: ["a 3", "b 0", "c 4"],
    clean: true,
  });
});

test("a stale old value is refused with the advice to fetch, and does not stop the others", () => {
  const { results, changes, clean } = merge({ a: "1" }, push(["a 2 3", "b 2 3", "c 0 1"]));
  expect(results).toEqual([
    [
      `failed to update ref: expected ${oid("2")} but is at ${oid("1")}; fetch first`,
      `failed to update ref: expected ${oid("2")} but it does not exist; fetch first`,
      "ok",
    ],
  ]);
  expect({ changes, clean }).toEqual({ changes: ["c 1"], clean: false });
  expect(merge({ a: "1" }, push(["a 0 3"])).results).toEqual([["failed to update ref: reference already exists; fetch first"]]);
});

test("a ref that already has its new value, and the delete of an absent one, are done without a change", () => {
  expect(merge({ a: "3" }, push(["a 1 3", "gone 2 0"]))).toEqual({ results: [["ok", "ok"]], changes: [], clean: false });
});

test("a ref conflicts with one that it would be a directory of, and the other way round", () => {
  expect(merge({ a: "1" }, push(["a/b 0 2"])).results).toEqual([["directory/file conflict with refs/heads/a"]]);
  expect(merge({ "a/b/c": "1" }, push(["a 0 2", "a/b 0 2"])).results).toEqual([
    ["directory/file conflict with refs/heads/a/b/c", "directory/file conflict with refs/heads/a/b/c"],
  ]);
  expect(merge({ "a-b": "1", a0: "1" }, push(["a 0 2"])).results).toEqual([["ok"]]);
  expect(merge({}, push(["a 0 1", "a/b 0 1"])).results).toEqual([["ok", "directory/file conflict with refs/heads/a"]]);
  expect(merge({}, push(["a/b 0 1", "a 0 1"])).results).toEqual([["ok", "directory/file conflict with refs/heads/a/b"]]);
});

test("a delete makes room in the same push, wherever it stands; a refused delete does not", () => {
  expect(merge({ a: "1" }, push(["a/b 0 2", "a 1 0"])).results).toEqual([["ok", "ok"]]);
  expect(merge({ "a/b": "1" }, push(["a 0 2", "a/b 1 0"])).results).toEqual([["ok", "ok"]]);
  expect(merge({ a: "1" }, push(["a/b 0 2", "a 9 0"])).results[0]?.[0]).toBe("directory/file conflict with refs/heads/a");
});

test("a ref named twice in one push is refused each time", () => {
  expect(merge({}, push(["a 0 1", "b 0 1", "a 1 2"])).results).toEqual([
    ["multiple updates for this ref in one push", "ok", "multiple updates for this ref in one push"],
  ]);
});

test("an atomic push does all or nothing", () => {
  expect(merge({ a: "1" }, push(["b 0 1", "a 2 3", "c 0 1"], { atomic: true }), push(["b 0 2"]))).toMatchObject({
    results: [["atomic push failure", expect.stringContaining("fetch first"), "atomic push failure"], ["ok"]],
    changes: ["b 2"],
  });
});

test("a value that is not connected is refused, unless the ref has it already", () => {
  expect(merge({ b: "2" }, push(["a 0 1", "b 1 2"], { disconnected: ["a", "b"] })).results).toEqual([["missing necessary objects", "ok"]]);
});

test("names and ids that git would not take are refused", () => {
  const bad = (ref: string, oldOid = oid("0"), newOid = oid("1")) =>
    brief(
      mergeGroup(table({}), "sha1", [{ updates: [{ ref, oldOid, newOid }], atomic: false, disconnected: new Set() }]).pushes[0]?.results ??
        [],
    );
  for (const ref of [
    "HEAD",
    "refs/heads/a b",
    "refs/heads/a\nb",
    "refs/heads/a..b",
    "refs/heads/a.lock",
    "refs/heads//a",
    "refs/heads/.a",
  ]) {
    expect(bad(ref)).toEqual(["funny refname"]);
  }
  expect(bad("refs/heads/a", oid("0"), "xyz")).toEqual(["malformed object id"]);
  expect(bad("refs/heads/a", oid("0"), "1".repeat(64))).toEqual(["malformed object id"]);
});

test("pushes of a group see one another in order", () => {
  expect(merge({ a: "1" }, push(["a 1 2"]), push(["a 2 3"]), push(["a 1 4"]))).toMatchObject({
    results: [["ok"], ["ok"], [expect.stringContaining("fetch first")]],
    changes: ["a 3"],
  });
});

test("a merged group never holds a ref and a ref below it, whatever is pushed", () => {
  const ref = fc.constantFrom("a", "a/b", "a/b/c", "a/c", "b", "b/a");
  const value = fc.constantFrom("0", "1", "2");
  const one = fc.record({
    updates: fc.array(fc.tuple(ref, value, value), { minLength: 1, maxLength: 5 }).map((list) => list.map((parts) => parts.join(" "))),
    atomic: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(one, { maxLength: 5 }), fc.array(one, { maxLength: 5 }), (first, second) => {
      let refs = table({});
      for (const group of [first, second]) {
        const pushes = group.map(({ updates, atomic }) => push(updates, { atomic }));
        refs = applyUpdates(refs, mergeGroup(refs, "sha1", pushes).changes, "sha1") as typeof refs;
      }
      const names = [...refs.withPrefix("")].map(({ name }) => name);
      for (const name of names) expect(names.some((other) => other.startsWith(`${name}/`))).toBe(false);
    }),
    { numRuns: 500 },
  );
});
