import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { emptyRefTable, parseRefTable } from "../../../src/storage/packed-refs.ts";
import { applyUpdates, readRefStack } from "../../../src/storage/ref-stack.ts";
import type { RefTable } from "../../../src/storage/ref-table.ts";

const header = "# pack-refs with: peeled fully-peeled sorted \n";
const oid = (digit: string) => digit.repeat(40);
const bytes = (...lines: string[]) => Buffer.from(header + lines.map((line) => `${line}\n`).join(""), "latin1");
const all = (table: RefTable) => [...table.withPrefix("")];
const two = bytes(`${oid("a")} refs/heads/main`, `${oid("b")} refs/tags/v1`, `^${oid("c")}`);

describe("a ref table", () => {
  test("is read from git's packed-refs text and gives back the same bytes", () => {
    const table = parseRefTable(two, "sha1");
    expect(table.size).toBe(2);
    expect(table.get("refs/heads/main")).toEqual({ name: "refs/heads/main", oid: oid("a") });
    expect(table.get("refs/tags/v1")).toEqual({ name: "refs/tags/v1", oid: oid("b"), peeled: oid("c") });
    expect(table.get("refs/heads/mai")).toBeUndefined();
    expect(table.get("refs/zzz")).toBeUndefined();
    expect(Buffer.from(table.toPackedRefs()).equals(two)).toBe(true);
  });

  test("of no bytes is empty and has a header of its own", () => {
    expect(parseRefTable(new Uint8Array(), "sha1").size).toBe(0);
    expect(Buffer.from(emptyRefTable("sha1").toPackedRefs()).toString()).toBe(header);
  });

  test("finds names by prefix, as bytes", () => {
    const names = ["refs/heads/a", "refs/heads/a-b", "refs/heads/a/b", "refs/heads/a0", "refs/heads/\xc3\xa4", "refs/heads/\xff"];
    const table = parseRefTable(bytes(...names.map((name) => `${oid("1")} ${name}`)), "sha1");
    expect([...table.withPrefix("refs/heads/a")].map(({ name }) => name)).toEqual(names.slice(0, 4));
    expect([...table.withPrefix("refs/heads/\xc3")].map(({ name }) => name)).toEqual(names.slice(4, 5));
    expect([...table.withPrefix("refs/x")]).toEqual([]);
  });

  const damages: Readonly<Record<string, Buffer>> = {
    "no header": Buffer.from(`${oid("a")} refs/heads/main\n`),
    "another header": Buffer.from("# pack-refs with: peeled \n"),
    "a last line without end": bytes().subarray(0, header.length - 1),
    "a cut line": two.subarray(0, two.length - 1),
    "names out of order": bytes(`${oid("a")} refs/heads/b`, `${oid("a")} refs/heads/a`),
    "a name twice": bytes(`${oid("a")} refs/heads/a`, `${oid("a")} refs/heads/a`),
    "an upper-case id": bytes(`${oid("A")} refs/heads/a`),
    "an id of the other format": bytes(`${"a".repeat(64)} refs/heads/a`),
    "a name outside refs": bytes(`${oid("a")} heads/a`),
    "a name with a space": bytes(`${oid("a")} refs/heads/a b`),
    "an empty name": bytes(`${oid("a")} `),
    "an empty line": bytes(""),
    "a peeled line first": bytes(`^${oid("a")}`),
    "two peeled lines": bytes(`${oid("a")} refs/tags/a`, `^${oid("a")}`, `^${oid("a")}`),
    "a short peeled line": bytes(`${oid("a")} refs/tags/a`, "^abc"),
  };
  test.each(Object.entries(damages))("with %s is corrupt", (_, damaged) => {
    expect(() => parseRefTable(damaged, "sha1")).toThrowError(expect.objectContaining({ code: "corrupt" }));
  });

  test("of 100,000 refs is parsed, searched and changed without decoding all of it", () => {
    const lines = Array.from({ length: 100_000 }, (_, i) => `${oid("a")} refs/heads/b${String(i).padStart(6, "0")}`);
    const table = parseRefTable(bytes(...lines), "sha1");
    expect(table.size).toBe(100_000);
    expect(table.get("refs/heads/b077777")?.oid).toBe(oid("a"));
    const changed = applyUpdates(table, [{ ref: "refs/heads/b077777", oldOid: oid("a"), newOid: oid("b") }], "sha1");
    expect(changed.size).toBe(100_000);
    expect(changed.get("refs/heads/b077777")?.oid).toBe(oid("b"));
    expect(changed.get("refs/heads/b077778")?.oid).toBe(oid("a"));
  });
});

describe("a stack of ref tables", () => {
  test("gives the newest entry of each name, and a zero id deletes", () => {
    const base = bytes(`${oid("1")} refs/heads/a`, `${oid("1")} refs/heads/b`, `${oid("1")} refs/tags/t`, `^${oid("2")}`);
    const delta = bytes(`${oid("0")} refs/heads/a`, `${oid("3")} refs/heads/c`, `${oid("4")} refs/tags/t`);
    const top = bytes(`${oid("5")} refs/heads/a`, `${oid("0")} refs/heads/zzz`);
    const table = readRefStack([base, delta, new Uint8Array(), top], "sha1");
    expect(all(table)).toEqual([
      { name: "refs/heads/a", oid: oid("5") },
      { name: "refs/heads/b", oid: oid("1") },
      { name: "refs/heads/c", oid: oid("3") },
      { name: "refs/tags/t", oid: oid("4") },
    ]);
    parseRefTable(table.toPackedRefs(), "sha1");
  });

  test("of one table with a deletion drops it, and without one keeps its bytes", () => {
    expect(all(readRefStack([bytes(`${oid("0")} refs/heads/a`)], "sha1"))).toEqual([]);
    expect(Buffer.from(readRefStack([two], "sha1").toPackedRefs()).equals(two)).toBe(true);
  });
});

test("updates give the table that a map of refs would give", () => {
  const name = fc.constantFrom("refs/heads/a", "refs/heads/a-b", "refs/heads/a/b", "refs/heads/b", "refs/heads/\xff", "refs/tags/t");
  const value = fc.constantFrom("0", "1", "2", "3");
  const round = fc.uniqueArray(fc.record({ name, value, peeled: fc.boolean() }), { selector: (update) => update.name });
  fc.assert(
    fc.property(fc.array(round, { maxLength: 6 }), (rounds) => {
      let table: RefTable = emptyRefTable("sha1");
      const model = new Map<string, { name: string; oid: string; peeled?: string }>();
      for (const updates of rounds) {
        const asked = updates.map((update) => ({
          ref: update.name,
          oldOid: oid("9"),
          newOid: oid(update.value),
          ...(update.peeled ? { peeledOid: oid("8") } : {}),
        }));
        table = applyUpdates(table, asked, "sha1");
        for (const update of updates) {
          const entry = { name: update.name, oid: oid(update.value), ...(update.peeled ? { peeled: oid("8") } : {}) };
          if (update.value === "0") model.delete(update.name);
          else model.set(update.name, entry);
        }
        const expected = [...model.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
        expect(all(table)).toEqual(expected);
        expect(all(parseRefTable(table.toPackedRefs(), "sha1"))).toEqual(expected);
      }
    }),
  );
});
