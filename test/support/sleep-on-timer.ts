import type { Clock } from "../../src/base/index.ts";

/** {@link Clock.sleep} by the timers of a clock. */
export function sleepOnTimer(clock: Pick<Clock, "timer">, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer[Symbol.dispose]();
      reject(signal.reason);
    };
    const timer = clock.timer(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
