import type { ObjectFormat } from "./generation.ts";
import { formatRef, joinRefTable, type PackedRefTable, parseRefTable, zeroOid } from "./packed-refs.ts";
import type { RefEntry, RefTable } from "./ref-table.ts";
import type { RefUpdate } from "./repository-storage.ts";

/**
 * Reads a stack of tables, oldest first: a newer table's entry wins, and an all-zero id in it deletes the ref. A single table without
 * deletions is not copied. Errors: `corrupt`.
 */
export function readRefStack(layers: readonly Uint8Array[], format: ObjectFormat): PackedRefTable {
  const tables = layers.filter((bytes) => bytes.length > 0).map((bytes) => parseRefTable(bytes, format));
  let merged = tables[0] ?? parseRefTable(new Uint8Array(), format);
  const zero = zeroOid(format);
  if (tables.length <= 1 && !has(merged, (entry) => entry.oid === zero)) return merged;
  merged = applyEntries(parseRefTable(new Uint8Array(), format), merged.withPrefix(""), format);
  for (const table of tables.slice(1)) merged = applyEntries(merged, table.withPrefix(""), format);
  return merged;
}

/** The table after `updates`, each of which names another ref. Old values are not looked at. */
export function applyUpdates(table: RefTable, updates: readonly RefUpdate[], format: ObjectFormat): RefTable {
  if (updates.length === 0) return table;
  const entries = updates.map(
    ({ ref, newOid, peeledOid }): RefEntry => ({ name: ref, oid: newOid, ...(peeledOid === undefined ? {} : { peeled: peeledOid }) }),
  );
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const packed = "slice" in table ? (table as PackedRefTable) : parseRefTable(table.toPackedRefs(), format);
  return applyEntries(packed, entries, format);
}

/** `changes` are in order; an all-zero id deletes. */
function applyEntries(table: PackedRefTable, changes: Iterable<RefEntry>, format: ObjectFormat): PackedRefTable {
  const zero = zeroOid(format);
  const parts: Uint8Array[] = [];
  let kept = 0;
  for (const change of changes) {
    const at = table.lowerBound(change.name);
    parts.push(table.slice(kept, at));
    kept = at < table.size && table.entry(at).name === change.name ? at + 1 : at;
    if (change.oid !== zero) parts.push(formatRef(change));
  }
  parts.push(table.slice(kept, table.size));
  return joinRefTable(parts, format);
}

function has(table: PackedRefTable, test: (entry: RefEntry) => boolean): boolean {
  for (const entry of table.withPrefix("")) if (test(entry)) return true;
  return false;
}
