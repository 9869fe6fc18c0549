import { CodedError } from "./errors.ts";
import { sharedAbortController } from "./signals.ts";

/** Time as an argument. Only this file may touch the platform's timers and clocks. */
export interface Clock {
  /** Milliseconds since 1970; may jump. For records and tokens, never for measuring. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason, at once if it is already aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Calls `fn` once after `ms` unless disposed before. Does not keep the process alive. */
  timer(ms: number, fn: () => void): Disposable;
}

/** The platform's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(handle);
        reject(signal.reason);
      };
      const handle = setTimeout(() => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      }, ms);
      signal.addEventListener("abort", onAbort, { once: true });
    }),
  timer: (ms, fn) => {
    const handle = setTimeout(fn, ms);
    handle.unref();
    return { [Symbol.dispose]: () => clearTimeout(handle) };
  },
};

/** A signal that aborts after `ms` with `deadline_exceeded`, or when `parent` does. Dispose it when the work ends. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
}

/** Starts a deadline of `ms` milliseconds below `parent`. */
export function startDeadline(clock: Clock, ms: number, parent?: AbortSignal): Deadline {
  const controller = sharedAbortController();
  const onParent = () => controller.abort(parent?.reason);
  const timer = clock.timer(ms, () => controller.abort(new CodedError("deadline_exceeded", "deadline passed", { afterMs: ms })));
  if (parent?.aborted) onParent();
  else parent?.addEventListener("abort", onParent, { once: true });
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      timer[Symbol.dispose]();
      parent?.removeEventListener("abort", onParent);
    },
  };
}
