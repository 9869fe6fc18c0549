import type { ByteString } from "../base/index.ts";
import type { RefTable } from "./ref-table.ts";
import type { RefUpdate } from "./repository-storage.ts";

/** A ref table with changes on top that are not written yet. */
export class RefOverlay {
  readonly #table: RefTable;
  readonly #zero: string;
  readonly #changes = new Map<ByteString, RefUpdate>();
  /** Directory (`refs/heads/a/`) -> number of changed refs that exist below it. */
  readonly #dirs = new Map<ByteString, number>();

  constructor(table: RefTable, zero: string) {
    this.#table = table;
    this.#zero = zero;
  }

  /** The ref's value; all zeros where it does not exist. */
  oid(ref: ByteString): string {
    return this.#changes.get(ref)?.newOid ?? this.#table.get(ref)?.oid ?? this.#zero;
  }

  /** Changes a ref; returns what undoes it. Undo in reverse order. */
  set(update: RefUpdate): () => void {
    const before = this.#changes.get(update.ref);
    this.#replace(update.ref, before, update);
    return () => this.#replace(update.ref, update, before);
  }

  /** A ref that cannot exist together with `ref`: one it is a directory of, or one that would be a directory of it. */
  conflictWith(ref: ByteString): ByteString | undefined {
    for (const dir of parentDirs(ref)) {
      const name = dir.slice(0, -1);
      if (this.oid(name) !== this.#zero) return name;
    }
    const below = `${ref}/`;
    for (const entry of this.#table.withPrefix(below)) {
      if (this.oid(entry.name) !== this.#zero) return entry.name;
    }
    if (!this.#dirs.has(below)) return undefined;
    for (const [name, { newOid }] of this.#changes) if (newOid !== this.#zero && name.startsWith(below)) return name;
    return undefined;
  }

  /** What differs from the table. */
  changes(): RefUpdate[] {
    return [...this.#changes.values()].filter((change) => change.newOid !== (this.#table.get(change.ref)?.oid ?? this.#zero));
  }

  #replace(ref: ByteString, before: RefUpdate | undefined, after: RefUpdate | undefined): void {
    const exists = (update: RefUpdate | undefined) => (update !== undefined && update.newOid !== this.#zero ? 1 : 0);
    const step = exists(after) - exists(before);
    if (step !== 0) {
      for (const dir of parentDirs(ref)) {
        const count = (this.#dirs.get(dir) ?? 0) + step;
        if (count === 0) this.#dirs.delete(dir);
        else this.#dirs.set(dir, count);
      }
    }
    if (after) this.#changes.set(ref, after);
    else this.#changes.delete(ref);
  }
}

function* parentDirs(ref: ByteString): Generator<ByteString> {
  for (let at = ref.indexOf("/"); at !== -1; at = ref.indexOf("/", at + 1)) yield ref.slice(0, at + 1);
}
