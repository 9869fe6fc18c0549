import { CodedError, sharedAbortController } from "../../base/index.ts";
import type { CliIo } from "../context.ts";

/** The first signal asks to drain, the second to stop at once. */
export interface StopSignals extends Disposable {
  readonly drain: AbortSignal;
  readonly atOnce: AbortSignal;
}

/** Listens for SIGTERM and SIGINT until disposed. */
export function listenForStop(io: CliIo): StopSignals {
  const drain = sharedAbortController();
  const atOnce = sharedAbortController();
  const listener = io.onStopSignal(() => {
    const reason = new CodedError("cancelled", "stopped by a signal");
    if (drain.signal.aborted) atOnce.abort(reason);
    else drain.abort(reason);
  });
  return { drain: drain.signal, atOnce: atOnce.signal, [Symbol.dispose]: () => listener[Symbol.dispose]() };
}
