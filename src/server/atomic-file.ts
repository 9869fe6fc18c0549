import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { errnoOf } from "../base/index.ts";

/** Writes a whole file so that readers see the old content or the new, never a part. */
export function writeFileAtomic(file: string, content: string, mode = 0o600): void {
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(temporary, content, { mode, flush: true });
  renameSync(temporary, file);
}

/** The file's text, or undefined where it does not exist. */
export function readFileIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
