import { CodedError } from "../base/index.ts";
import type { JoinAddress } from "../config/index.ts";
import { type AskPeersDeps, askPeer, type PeerAnswer } from "./ask-peers.ts";
import { BackOff } from "./back-off.ts";

const reminderIntervalMs = 60_000;

/**
 * Asks all join targets, again and again with back-off, until one answers: a node without a store waits for as long as it takes
 * and never founds a cluster. `onWaiting` hears after each round why nobody answered.
 */
export async function findCluster(
  targets: readonly JoinAddress[],
  deps: AskPeersDeps,
  onWaiting: (reason: string) => void,
  signal: AbortSignal,
): Promise<PeerAnswer> {
  const backOff = new BackOff({ firstMs: 100, maxMs: 3000 }, deps);
  let remindedAtMs = Number.NEGATIVE_INFINITY;
  for (;;) {
    const failures: string[] = [];
    for (const target of targets) {
      try {
        return await askPeer(target, deps, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (CodedError.is(error, "cluster_mismatch")) throw error;
        failures.push(`${target.text}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    onWaiting(`no member answers yet (${failures.join("; ")})`);
    if (deps.clock.monotonic() - remindedAtMs >= reminderIntervalMs) {
      remindedAtMs = deps.clock.monotonic();
      deps.logger.warn(
        "waiting for a member that knows the cluster's store: one node must be started without --join-addr or with object_storage.url",
        { failures },
      );
    }
    await backOff.wait(signal);
  }
}
