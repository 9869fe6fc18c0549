import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../base/index.ts";
import { type DirEntry, readDirEntry } from "./filesystem-layout.ts";

/** Which keys a walk yields. */
export interface WalkRange {
  readonly prefix: string;
  readonly after: string;
  /** Yield a directory behind `prefix` as one folded entry. */
  readonly fold: boolean;
}

/** An object's file, or (no file) a folded directory with at least one key in the range. */
export interface WalkItem {
  readonly key: string;
  readonly file: string | undefined;
}

/** Keys of a filesystem store in byte order; reads only directories that can hold a key of the range. */
export async function* walk(dir: string, keyPrefix: string, range: WalkRange): AsyncGenerator<WalkItem> {
  const entries = await readEntries(dir, keyPrefix, range);
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i] as DirEntry;
    const rivals: DirEntry[] = [];
    // A fanned-out directory's keys may interleave with names beside it that begin like it.
    while (entry.kind === "fanOut" && entries[i + 1]?.keyPart.startsWith(entry.keyPart)) rivals.push(entries[++i] as DirEntry);
    if (rivals.length === 0) {
      yield* walkEntry(dir, keyPrefix, entry, range);
      continue;
    }
    const items: WalkItem[] = [];
    for (const rival of [entry, ...rivals]) for await (const item of walkEntry(dir, keyPrefix, rival, range)) items.push(item);
    yield* items.sort((a, b) => (a.key < b.key ? -1 : 1));
  }
}

async function* walkEntry(dir: string, keyPrefix: string, entry: DirEntry, range: WalkRange): AsyncGenerator<WalkItem> {
  const key = keyPrefix + entry.keyPart;
  const path = join(dir, entry.name);
  if (entry.kind === "object") {
    yield { key, file: path };
  } else if (entry.kind === "directory" && range.fold && key.length > range.prefix.length) {
    for await (const _ of walk(path, key, { ...range, fold: false })) {
      yield { key, file: undefined };
      break;
    }
  } else {
    yield* walk(path, key, range);
  }
}

async function readEntries(dir: string, keyPrefix: string, range: WalkRange): Promise<DirEntry[]> {
  const found = await readdir(dir, { withFileTypes: true }).catch((error: unknown) => {
    // Removed since its parent was read: it was empty.
    if (errnoOf(error) === "ENOENT" && keyPrefix !== "") return [];
    throw error;
  });
  const entries: DirEntry[] = [];
  for (const dirent of found) {
    const entry = readDirEntry(dirent.name, dirent.isDirectory(), keyPrefix === "");
    if (entry && mayMatch(keyPrefix + entry.keyPart, entry.kind === "object", range)) entries.push(entry);
  }
  return entries.sort((a, b) => (a.keyPart < b.keyPart ? -1 : a.keyPart > b.keyPart ? 1 : 0));
}

function mayMatch(key: string, isObject: boolean, { prefix, after }: WalkRange): boolean {
  if (isObject) return key.startsWith(prefix) && key > after;
  return (key.startsWith(prefix) || prefix.startsWith(key)) && (key > after || after.startsWith(key));
}
