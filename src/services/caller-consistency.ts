import { abortable, startDeadline } from "../base/index.ts";
import type { CatalogCaller, CatalogToken } from "../catalog/index.ts";
import type { CallContext } from "../rpc/index.ts";
import type { ServicesDeps } from "./services-deps.ts";

type Deps = Pick<ServicesDeps, "catalog" | "smartHttp" | "clock">;

/** The trailer, named as what the caller sends. */
const key = "gitaly-consistency";
/** A call that changed something waits this long for the index to take it; the change itself is done. */
const settleMs = 500;

/** What a caller brings along so that it sees its own writes through any node, and what it takes home. For those who ask for it. */
export class CallerConsistency {
  /** For the catalog's reads. */
  readonly caller: CatalogCaller;
  readonly #deps: Deps;
  readonly #call: CallContext;
  readonly #token: CatalogToken | undefined;

  constructor(deps: Deps, call: CallContext) {
    this.#deps = deps;
    this.#call = call;
    this.#token = call.consistency && deps.catalog.openToken(call.consistency);
    this.caller = { token: this.#token, maxStalenessMs: call.maxStalenessMs };
  }

  /** Ends a call that has changed the repository at `path`. */
  async changed(path: string): Promise<void> {
    if (this.#token) await settle(this.#deps, path, this.#token, this.#call.signal);
    this.answer();
  }

  /** Ends a call that has changed nothing. */
  answer(): void {
    // Empty where there is nothing to remember any more, so that the caller forgets what it had.
    if (this.#token) this.#call.setTrailer(key, this.#token.token ?? "");
  }
}

/**
 * The same for callers over HTTP: what one that has changed the repository at `path`, and brought `given` along, is to bring next time.
 * Undefined where this node makes no tokens.
 */
export async function tokenAfterChange(
  deps: Deps,
  path: string,
  given: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const token = deps.catalog.openToken(given);
  if (!token) return undefined;
  await settle(deps, path, token, signal);
  return token.token ?? "";
}

async function settle(deps: Deps, path: string, token: CatalogToken, signal: AbortSignal): Promise<void> {
  using deadline = startDeadline(deps.clock, settleMs, signal);
  await abortable(deps.smartHttp.noted(path), deadline.signal).catch(() => {});
  await deps.catalog.settle(path, token, deadline.signal);
}
