import { join } from "node:path";

/** Holds files that are being written; no key can name it, since segments do not start with a dot. */
export const tempDirName = ".tmp";

const fanOutName = /^[0-9a-f]{14}$/;
const fanOutMark = "+";

/**
 * Where a key's file is. A last segment of 14 hex digits (a generation's slot) is split into two directory levels of at most 256 entries, so
 * that neither a new slot nor a look at the newest reads a directory of 100,000 names. `+` marks such directories; no key holds it.
 */
export function fileOfKey(root: string, key: string): string {
  const at = key.lastIndexOf("/") + 1;
  const name = key.slice(at);
  if (!fanOutName.test(name)) return join(root, key);
  return join(root, key.slice(0, at), name.slice(0, 10) + fanOutMark, name.slice(10, 12) + fanOutMark, name.slice(12));
}

/** What a directory entry stands for in the space of keys. */
export interface DirEntry {
  /** What it adds to the keys below or at it; a directory of keys ends in `/`. */
  readonly keyPart: string;
  readonly name: string;
  readonly kind: "object" | "directory" | "fanOut";
}

/** Reads a directory entry; undefined for what is not part of the store. */
export function readDirEntry(name: string, isDirectory: boolean, atRoot: boolean): DirEntry | undefined {
  if (atRoot && name === tempDirName) return undefined;
  if (!isDirectory) return { keyPart: name, name, kind: "object" };
  if (name.endsWith(fanOutMark)) return { keyPart: name.slice(0, -1), name, kind: "fanOut" };
  return { keyPart: `${name}/`, name, kind: "directory" };
}
