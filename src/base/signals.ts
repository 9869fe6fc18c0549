import { setMaxListeners } from "node:events";

/**
 * A controller whose signal any number of waits may listen to at once: each removes its listener when it ends, so Node's
 * warning of a leak at eleven would be false.
 */
export function sharedAbortController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** A signal that never aborts. */
export const neverAborted: AbortSignal = sharedAbortController().signal;

/** Resolves with `promise`, or rejects with the signal's reason as soon as it aborts; the promise's own work goes on. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    promise.catch(() => {});
    return Promise.reject(signal.reason);
  }
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** Aborts when any of `signals` does. Dispose it when the work ends, so that nothing stays attached to them. */
export function linkSignals(...signals: AbortSignal[]): { signal: AbortSignal } & Disposable {
  const controller = sharedAbortController();
  const undo: (() => void)[] = [];
  for (const signal of signals) {
    const onAbort = () => controller.abort(signal.reason);
    if (signal.aborted) onAbort();
    else {
      signal.addEventListener("abort", onAbort, { once: true });
      undo.push(() => signal.removeEventListener("abort", onAbort));
    }
  }
  return { signal: controller.signal, [Symbol.dispose]: () => undo.splice(0).forEach((fn) => void fn()) };
}
