import { CodedError } from "../base/index.ts";
import type { Logger } from "../observability/index.ts";
import { HelperProcess } from "./helper-process.ts";
import type { SpawnedChild, Spawner, SpawnRequest } from "./spawner.ts";

export interface HelperSpawnerOptions {
  /** The built `spawner-main.js`. */
  readonly entryPath: string;
  /** Where the helper's sockets are made, unless its name is too long for them. */
  readonly dir: string;
}

export interface HelperSpawnerDeps {
  readonly logger: Logger;
}

/** Forks in a small process of its own, so that this one never stands still for it. Data flows past the helper, by two sockets a child. */
export class HelperSpawner implements Spawner {
  readonly #options: HelperSpawnerOptions;
  readonly #logger: Logger;
  #helper: Promise<HelperProcess> | undefined;
  #closed = false;

  constructor(options: HelperSpawnerOptions, deps: HelperSpawnerDeps) {
    this.#options = options;
    this.#logger = deps.logger;
  }

  async spawn(request: SpawnRequest, onStderr?: (chunk: Uint8Array) => void): Promise<SpawnedChild> {
    return await (await this.#living()).spawn(request, onStderr);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const helper = await this.#helper?.catch(() => undefined);
    await helper?.stop();
  }

  /** The helper, started again where it died. */
  async #living(): Promise<HelperProcess> {
    if (this.#closed) throw new CodedError("git_failed", "git is closed");
    this.#helper ??= this.#start();
    const helper = await this.#helper;
    if (helper.alive) return helper;
    await helper.gone;
    this.#helper ??= this.#start();
    return await this.#helper;
  }

  async #start(): Promise<HelperProcess> {
    try {
      const helper = await HelperProcess.start(this.#options);
      void helper.gone.then(() => {
        this.#helper = undefined;
        if (!this.#closed) this.#logger.warn("spawn helper died; the next child starts it again");
      });
      return helper;
    } catch (error) {
      this.#helper = undefined;
      throw error;
    }
  }
}
