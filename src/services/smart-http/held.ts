/**
 * The items of `source`, with `release` called once when they end, fail or are left, and when `signal` aborts while nobody
 * waits for the next one. A generator would not do: one that was never begun skips its `finally`.
 */
export function held<T>(source: AsyncIterable<T>, signal: AbortSignal, release: () => PromiseLike<void>): AsyncIterableIterator<T> {
  const iterator = source[Symbol.asyncIterator]();
  let waiting = 0;
  let closed: Promise<void> | undefined;

  const close = (): Promise<void> => {
    closed ??= (async () => {
      signal.removeEventListener("abort", onAbort);
      try {
        await iterator.return?.();
      } finally {
        await release();
      }
    })();
    return closed;
  };
  const onAbort = () => {
    // Who waits gets the source's own error, and closes then.
    if (waiting === 0) close().catch(() => {});
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });

  return {
    async next() {
      if (closed) {
        await closed;
        signal.throwIfAborted();
        return { done: true, value: undefined };
      }
      waiting++;
      let result: IteratorResult<T>;
      try {
        result = await iterator.next();
      } catch (error) {
        await close().catch(() => {});
        throw error;
      } finally {
        waiting--;
      }
      if (result.done) await close();
      return result;
    },
    async return() {
      await close();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
