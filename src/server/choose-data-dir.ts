import { homedir } from "node:os";
import { join } from "node:path";
import { CodedError, type Random } from "../base/index.ts";
import { type DataDirLock, lockDataDir } from "./data-dir-lock.ts";

const maxNodesPerHost = 1000;

/** Where a node keeps its files unless told: `$XDG_DATA_HOME/gitaly` or `~/.local/share/gitaly`. */
export function defaultDataDir(env: NodeJS.ProcessEnv): string {
  return join(env["XDG_DATA_HOME"] || join(homedir(), ".local", "share"), "gitaly");
}

/**
 * Locks the given directory; without one the default, or, for a node that joins, the first free of `<default>-2`,
 * `<default>-3`, …: the default itself is kept for the node that does not join, so that any start order works.
 * Errors: `data_dir_in_use`.
 */
export function chooseDataDir(options: { given: string | undefined; joins: boolean; defaultDir: string }, random: Random): DataDirLock {
  if (options.given !== undefined) return lockDataDir(options.given, random);
  if (!options.joins) return lockDataDir(options.defaultDir, random);
  for (let i = 2; i <= maxNodesPerHost; i++) {
    try {
      return lockDataDir(`${options.defaultDir}-${i}`, random);
    } catch (error) {
      if (!CodedError.is(error, "data_dir_in_use")) throw error;
    }
  }
  throw new CodedError("data_dir_in_use", "too many nodes run on this host", { defaultDir: options.defaultDir });
}
