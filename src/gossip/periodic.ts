import type { Clock } from "../base/index.ts";

/** Calls `work` again and again, each time after the delay that `nextMs` gives, until the signal aborts. Rejects only if `work` does. */
export async function runPeriodically(
  clock: Clock,
  signal: AbortSignal,
  nextMs: () => number,
  work: () => Promise<void> | void,
): Promise<void> {
  try {
    for (;;) {
      await clock.sleep(nextMs(), signal);
      await work();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** By how much full exchanges become rarer in a cluster of `nodes`, so that their cost per node stays about the same. */
export function pushPullScale(nodes: number): number {
  return nodes <= 32 ? 1 : Math.ceil(Math.log2(nodes) - 5) + 1;
}
