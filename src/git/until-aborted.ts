import { abortable } from "../base/index.ts";

/** The same stream, but a reader that waits for it is let go when `signal` aborts. */
export function untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]: (): AsyncIterator<T> => {
      const iterator = source[Symbol.asyncIterator]();
      return {
        next: () => abortable(iterator.next(), signal),
        return: async () => {
          // Not awaited: a source that waits for its peer would not answer before the peer does.
          iterator.return?.()?.catch(() => {});
          return { done: true, value: undefined };
        },
      };
    },
  };
}
