import { type ByteString, CodedError, linkSignals } from "../base/index.ts";
import type { Generation, Pack } from "./generation.ts";
import { artifactNames } from "./generation-artifacts.ts";
import type { PreparedTable } from "./prepared-table.ts";
import type { PublishRequest, PublishResult, RefResult } from "./repository-storage.ts";

/** Epochs by which a transaction's uploads may be older than the generation that names them. */
const gcEpochSlack = 1;

/** One push on its way through the commit machine: its uploads are confirmed, its verdict is still open. */
export class PushMember {
  readonly request: PublishRequest;
  readonly packs: readonly Pack[];
  readonly prepared: PreparedTable | undefined;
  readonly signal: AbortSignal;
  readonly verdict: Promise<PublishResult>;
  #resolve: (result: PublishResult) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  /** The generation on which connectivity was looked at last, and what was missing there. */
  #checked: Generation;
  #disconnected: ReadonlySet<ByteString> = new Set();

  constructor(request: PublishRequest, packs: readonly Pack[], prepared: PreparedTable | undefined, signal: AbortSignal) {
    this.request = request;
    this.packs = packs;
    this.prepared = prepared;
    this.signal = signal;
    this.#checked = request.base;
    this.verdict = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // The caller may have gone by the time the verdict is known.
    this.verdict.catch(() => {});
  }

  settle(generation: Generation, results: readonly RefResult[]): void {
    this.#resolve({ generation, results });
  }

  /** One answer for every update. */
  settleAll(generation: Generation, status: "rejected" | "unknown", reason: string): void {
    this.settle(
      generation,
      this.request.updates.map(({ ref }) => ({ ref, status, reason })),
    );
  }

  fail(error: unknown): void {
    this.#reject(error);
  }

  /** Why the push can never be put on this base; final, since repositories do not come back under an old id and epochs only grow. */
  obstacle(base: Generation): CodedError | undefined {
    const { path, base: own } = this.request;
    if (base.state !== "live" || base.repoId !== own.repoId) {
      return new CodedError("repository_not_found", "the repository was removed meanwhile", { relativePath: path });
    }
    if (base.gcEpoch - own.gcEpoch > gcEpochSlack) {
      return new CodedError("conflict", "the push took so long that its uploads may be collected; push again", { relativePath: path });
    }
    return undefined;
  }

  /** The refs whose new value is not connected on this base; asks again only where the base lost something since the last look. */
  async disconnectedOn(base: Generation, signal: AbortSignal): Promise<ReadonlySet<ByteString>> {
    if (base.digest === this.#checked.digest) return this.#disconnected;
    const present = artifactNames(base.packs);
    const lost = base.pruneEpoch !== this.#checked.pruneEpoch || this.#checked.packs.some(({ pack }) => !present.has(pack.name));
    if (lost) {
      using linked = linkSignals(signal, this.signal);
      this.#disconnected = new Set(await this.request.disconnected(base, this.request.updates, linked.signal));
    }
    this.#checked = base;
    return this.#disconnected;
  }
}
