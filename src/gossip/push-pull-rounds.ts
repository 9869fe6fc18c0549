import type { Clock, Random } from "../base/index.ts";
import type { Logger } from "../observability/index.ts";
import type { NodeRecord } from "./node-record.ts";
import { pushPullScale, runPeriodically } from "./periodic.ts";

export interface PushPullRoundsDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Known nodes. */
  readonly clusterSize: () => number;
  /** A live member at random. */
  readonly peer: () => NodeRecord | undefined;
  readonly synchronize: (peer: NodeRecord, signal: AbortSignal) => Promise<void>;
}

/** Exchanges views with one member at a time until the signal aborts; rarer in large clusters, and not in step with others. Never rejects. */
export function runPushPullRounds(pushPullIntervalMs: number, deps: PushPullRoundsDeps, signal: AbortSignal): Promise<void> {
  let staggerMs = deps.random.int(pushPullIntervalMs);
  const nextMs = () => {
    const delayMs = pushPullIntervalMs * pushPullScale(deps.clusterSize()) + staggerMs;
    staggerMs = 0;
    return delayMs;
  };
  return runPeriodically(deps.clock, signal, nextMs, async () => {
    const peer = deps.peer();
    if (!peer) return;
    try {
      await deps.synchronize(peer, signal);
    } catch (error) {
      signal.throwIfAborted();
      deps.logger.debug("a full exchange of gossip failed", { peer: peer.name, error });
    }
  });
}
