import { CodedError } from "../base/index.ts";
import type { RepositoryCache, RepositoryLease } from "../cache/index.ts";
import type { Logger } from "../observability/index.ts";

/** Finds out whether git failed because cached files are damaged, and has them replaced. The cache bounds how often it compares a file. */
export class DamageControl {
  readonly #deps: { readonly cache: RepositoryCache; readonly logger: Logger };

  constructor(deps: { readonly cache: RepositoryCache; readonly logger: Logger }) {
    this.#deps = deps;
  }

  /** After git failed with `error` on `lease`: whether damaged files were thrown away, so that trying again can help. */
  async foundDamage(lease: RepositoryLease, error: unknown, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted || !(CodedError.is(error, "git_failed") || CodedError.is(error, "corrupt"))) return false;
    const damaged = await this.#deps.cache.reportDamage(lease, signal);
    if (damaged === 0) return false;
    const { path, n } = lease.generation;
    this.#deps.logger.warn("damaged files in the cache were thrown away", { relativePath: path, generation: n, damaged, error });
    return true;
  }

  /** As `foundDamage`, where git misses objects that may be in files it cannot read. */
  async foundMissing(lease: RepositoryLease, signal: AbortSignal): Promise<boolean> {
    return await this.foundDamage(lease, new CodedError("corrupt", "git misses objects"), signal);
  }

  /** Runs `read`, and once more if it fails on damaged files. */
  async retrying<T>(lease: RepositoryLease, signal: AbortSignal, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if (!(await this.foundDamage(lease, error, signal))) throw error;
      return await read();
    }
  }
}
