import { type Clock, CodedError } from "../base/index.ts";
import type { RepositoryCache, RepositoryLease } from "../cache/index.ts";
import type { Logger } from "../observability/index.ts";

/** One generation's files are compared again after this time at the earliest: callers that make git fail must not keep the disk busy. */
const pauseMs = 60_000;
const maxRemembered = 1000;

/** Finds out whether git failed because cached files are damaged, and has them replaced. */
export class DamageControl {
  readonly #deps: { readonly cache: RepositoryCache; readonly clock: Clock; readonly logger: Logger };
  readonly #checkedAtMs = new Map<string, number>();

  constructor(deps: { readonly cache: RepositoryCache; readonly clock: Clock; readonly logger: Logger }) {
    this.#deps = deps;
  }

  /** After git failed with `error` on `lease`: whether damaged files were thrown away, so that trying again can help. */
  async foundDamage(lease: RepositoryLease, error: unknown, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted || !(CodedError.is(error, "git_failed") || CodedError.is(error, "corrupt"))) return false;
    const { digest, path, n } = lease.generation;
    const now = this.#deps.clock.monotonic();
    const last = this.#checkedAtMs.get(digest);
    if (last !== undefined && now - last < pauseMs) return false;
    this.#remember(digest, now);
    const damaged = await this.#deps.cache.reportDamage(lease, signal);
    if (damaged === 0) return false;
    // What is filled again is new; should it break too, it is looked at again at once.
    this.#checkedAtMs.delete(digest);
    this.#deps.logger.warn("damaged files in the cache were thrown away", { relativePath: path, generation: n, damaged });
    return true;
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

  #remember(digest: string, nowMs: number): void {
    this.#checkedAtMs.delete(digest);
    this.#checkedAtMs.set(digest, nowMs);
    if (this.#checkedAtMs.size <= maxRemembered) return;
    for (const oldest of this.#checkedAtMs.keys()) {
      this.#checkedAtMs.delete(oldest);
      return;
    }
  }
}
