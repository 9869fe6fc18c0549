import { mkdirSync, renameSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../base/index.ts";
import type { Logger } from "../observability/index.ts";
import { Running } from "./running.ts";

/**
 * Takes files and directories away at once and removes them in the background: the path is free for a successor as soon as
 * `discard` returns, however long the removal of a large pack takes.
 */
export class Trash {
  readonly #dir: string;
  readonly #logger: Logger;
  readonly #running = new Running();
  #next = 0;

  constructor(options: { dir: string }, deps: { logger: Logger }) {
    this.#dir = options.dir;
    this.#logger = deps.logger;
  }

  /** A path inside the trash's directory that no one else uses. */
  freshPath(): string {
    return join(this.#dir, String(this.#next++));
  }

  /** Takes `path` away; nothing happens where it does not exist. */
  discard(path: string): void {
    const target = this.freshPath();
    if (!tryRename(path, target)) {
      // Perhaps it was our own directory that someone removed.
      mkdirSync(this.#dir, { recursive: true });
      if (!tryRename(path, target)) return;
    }
    const removal = rm(target, { recursive: true, force: true });
    void this.#running.track(removal.catch((error: unknown) => this.#logger.warn("cannot remove a discarded cache file", { error })));
  }

  /** Resolves when everything discarded so far is removed. */
  async settled(): Promise<void> {
    await this.#running.settled();
  }
}

function tryRename(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    return false;
  }
}
