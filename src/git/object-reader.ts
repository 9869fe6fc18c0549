import { type ByteString, CodedError } from "../base/index.ts";
import type { CatfilePool } from "./catfile-pool.ts";
import type { GitObject } from "./git.ts";
import type { RepositoryView } from "./repository-view.ts";
import { resolveRevision } from "./revision.ts";

export interface ObjectReaderOptions {
  /** Larger objects are refused; default 64 MiB. */
  readonly maxObjectBytes: number;
}

/** Reads single objects by revision. */
export class ObjectReader {
  readonly #options: ObjectReaderOptions;
  readonly #pool: CatfilePool;

  constructor(options: ObjectReaderOptions, pool: CatfilePool) {
    this.#options = options;
    this.#pool = pool;
  }

  /** Undefined where nothing has that name. Errors: `invalid_argument`, `limit_exceeded`, `git_failed`. */
  async read(view: RepositoryView, revision: ByteString, as: "any" | "commit", signal: AbortSignal): Promise<GitObject | undefined> {
    const name = resolveRevision(view, revision);
    if (name === undefined) return undefined;
    return await this.#pool.with(view, signal, async (catfile) => {
      const info = await catfile.info(as === "commit" ? `${name}^{commit}` : name, signal);
      if (!info) return undefined;
      if (info.sizeBytes > this.#options.maxObjectBytes) {
        throw new CodedError("limit_exceeded", "object is too large", { oid: info.oid, sizeBytes: info.sizeBytes });
      }
      return await catfile.contents(info.oid, signal);
    });
  }
}
