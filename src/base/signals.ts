import { setMaxListeners } from "node:events";

/**
 * A controller whose signal any number of waits may listen to at once: each removes its listener when it ends, so Node's
 * warning of a leak at eleven would be false.
 */
export function sharedAbortController(): AbortController {
  const controller = new AbortController();
  const signal: SharedSignal = controller.signal;
  setMaxListeners(0, signal);
  signal[calls] = undefined;
  return controller;
}

/** On a shared signal: what is called when it aborts. One listener for all of it, since the platform's are slow to add and remove. */
const calls = Symbol("calls");

interface SharedSignal extends AbortSignal {
  [calls]?: Set<() => void> | undefined;
}

/** Calls `fn` once when the signal aborts; not where it has aborted before. Take it back with {@link forgetAbort}. */
export function onAbort(signal: SharedSignal, fn: () => void): void {
  const listened = signal[calls];
  if (listened) listened.add(fn);
  else if (calls in signal) listen(signal).add(fn);
  else signal.addEventListener("abort", fn, { once: true });
}

/** Takes back what was given to {@link onAbort}. */
export function forgetAbort(signal: SharedSignal, fn: () => void): void {
  const listened = signal[calls];
  if (listened) listened.delete(fn);
  else signal.removeEventListener("abort", fn);
}

function listen(signal: SharedSignal): Set<() => void> {
  const all = new Set<() => void>();
  signal[calls] = all;
  const callAll = () => {
    for (const fn of all) fn();
    all.clear();
  };
  signal.addEventListener("abort", callAll, { once: true });
  return all;
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
    const giveUp = () => reject(signal.reason);
    onAbort(signal, giveUp);
    promise.then(resolve, reject).finally(() => forgetAbort(signal, giveUp));
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
