import { setMaxListeners } from "node:events";

/**
 * A controller whose signal any number of waits may listen to at once: each removes its listener when it ends, so Node's
 * warning of a leak at eleven would be false.
 */
export function sharedAbortController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  callsOf.set(controller.signal, undefined);
  return controller;
}

/** What is called when a shared signal aborts: one listener for all of it, since the platform's listeners are slow to add and remove. */
const callsOf = new WeakMap<AbortSignal, Set<() => void> | undefined>();

/** Calls `fn` once when the signal aborts; not where it has aborted before. Take it back with {@link forgetAbort}. */
export function onAbort(signal: AbortSignal, fn: () => void): void {
  const calls = callsOf.get(signal);
  if (calls) calls.add(fn);
  else if (callsOf.has(signal)) callsOf.set(signal, listened(signal).add(fn));
  else signal.addEventListener("abort", fn, { once: true });
}

/** Takes back what was given to {@link onAbort}. */
export function forgetAbort(signal: AbortSignal, fn: () => void): void {
  const calls = callsOf.get(signal);
  if (calls) calls.delete(fn);
  else signal.removeEventListener("abort", fn);
}

function listened(signal: AbortSignal): Set<() => void> {
  const calls = new Set<() => void>();
  const callAll = () => {
    for (const fn of calls) fn();
    calls.clear();
  };
  signal.addEventListener("abort", callAll, { once: true });
  return calls;
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
