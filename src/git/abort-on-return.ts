import { CodedError, sharedAbortController } from "../base/index.ts";

/**
 * A stream whose consumer can leave at any time: `return()` aborts the signal that `make` was given, also while a `next()` is pending, and
 * resolves when the generator has cleaned up. A generator alone would first wait for its next value.
 */
export function abortOnReturn<T>(signal: AbortSignal, make: (signal: AbortSignal) => AsyncGenerator<T, void, undefined>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]: (): AsyncIterator<T> => {
      const controller = sharedAbortController();
      const onAbort = () => controller.abort(signal.reason);
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
      const generator = make(controller.signal);
      const unlink = () => signal.removeEventListener("abort", onAbort);
      const next = async (): Promise<IteratorResult<T>> => {
        try {
          const result = await generator.next();
          if (result.done) unlink();
          return result;
        } catch (error) {
          unlink();
          throw error;
        }
      };
      return {
        next,
        return: async () => {
          controller.abort(new CodedError("cancelled", "the reader left"));
          unlink();
          await generator.return().catch(() => {});
          return { done: true, value: undefined };
        },
      };
    },
  };
}
