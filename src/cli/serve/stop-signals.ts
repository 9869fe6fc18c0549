import { type Clock, CodedError, sharedAbortController } from "../../base/index.ts";
import type { CliIo } from "../context.ts";

/** The first signal asks to drain, the second to stop at once. */
export interface StopSignals extends Disposable {
  readonly drain: AbortSignal;
  readonly atOnce: AbortSignal;
}

/**
 * npm passes on the Ctrl-C that the terminal has already sent to each of its processes, on a busy machine late: what comes so soon is
 * no second wish.
 */
const sameWishMs = 1000;

/** Listens for SIGTERM and SIGINT until disposed. */
export function listenForStop(io: CliIo, clock: Clock): StopSignals {
  const drain = sharedAbortController();
  const atOnce = sharedAbortController();
  let firstMs = 0;
  const listener = io.onStopSignal(() => {
    const reason = new CodedError("cancelled", "stopped by a signal");
    if (!drain.signal.aborted) {
      firstMs = clock.monotonic();
      drain.abort(reason);
    } else if (clock.monotonic() - firstMs >= sameWishMs) atOnce.abort(reason);
  });
  return { drain: drain.signal, atOnce: atOnce.signal, [Symbol.dispose]: () => listener[Symbol.dispose]() };
}
