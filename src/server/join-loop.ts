import { CodedError } from "../base/index.ts";
import type { JoinAddress } from "../config/index.ts";
import type { Counter } from "../observability/index.ts";
import { type AskPeersDeps, askPeer, checkCluster } from "./ask-peers.ts";
import { BackOff } from "./back-off.ts";

export interface JoinLoopDeps extends AskPeersDeps {
  readonly clusterId: string;
  readonly self: string;
  /** Exchanges state with gossip members; resolves with how many answered. */
  readonly join: (addresses: readonly string[], signal: AbortSignal) => Promise<number>;
  /** Whether no other live member is known. */
  readonly alone: () => boolean;
  readonly refused: Counter;
}

/** How often a joined node looks whether it is alone again. */
const watchIntervalMs = 1000;

/**
 * Joins through every target once, and again whenever this node finds itself alone: islands that formed while a target was
 * down become one cluster as soon as it is up.
 */
export class JoinLoop {
  readonly #targets: readonly JoinAddress[];
  readonly #deps: JoinLoopDeps;
  readonly #reached = new Set<JoinAddress>();

  constructor(targets: readonly JoinAddress[], deps: JoinLoopDeps) {
    this.#targets = targets;
    this.#deps = deps;
  }

  /**
   * One attempt at each target that was not reached yet. With `strict`, a target of another cluster is an error,
   * `cluster_mismatch` with both ids, and so is another live node of this name, `failed_precondition`; else it is
   * counted or logged, and tried again later.
   */
  async round(strict: boolean, signal: AbortSignal): Promise<void> {
    await Promise.all(this.#targets.filter((target) => !this.#reached.has(target)).map((target) => this.#attempt(target, strict, signal)));
  }

  /** Goes on for ever; rejects with the signal's reason. */
  async run(signal: AbortSignal): Promise<void> {
    const backOff = new BackOff({ firstMs: 500, maxMs: 30_000 }, this.#deps);
    for (;;) {
      // Also while another target is still missing: that one may never come.
      if (this.#deps.alone()) this.#reached.clear();
      await this.round(false, signal);
      if (this.#reached.size < this.#targets.length) {
        await backOff.wait(signal);
        continue;
      }
      backOff.reset();
      await this.#deps.clock.sleep(watchIntervalMs, signal);
    }
  }

  async #attempt(target: JoinAddress, strict: boolean, signal: AbortSignal): Promise<void> {
    const { clusterId, logger, self } = this.#deps;
    try {
      const answer = await askPeer(target, this.#deps, signal);
      checkCluster(answer, target, clusterId);
      // A target may be this very node under another name.
      if (answer.node !== self) {
        if ((await this.#deps.join(answer.gossipAddresses, signal)) === 0) return;
        logger.info("joined through a member", { target: target.text, member: answer.node });
      }
      this.#reached.add(target);
    } catch (error) {
      if (signal.aborted) throw error;
      const mismatch = CodedError.is(error, "cluster_mismatch");
      if (strict && (mismatch || CodedError.is(error, "failed_precondition"))) throw error;
      if (mismatch) this.#deps.refused.add();
      logger.warn(mismatch ? "a join address is refused" : "a join address cannot be joined through", { target: target.text, error });
    }
  }
}
