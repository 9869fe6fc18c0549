import { linkSignals, sharedAbortController } from "../../base/index.ts";

/**
 * Calls `work` for every item, at most `limit` at a time, and gives the answers in the items' order. After a failure no more are begun, those that run
 * are aborted and waited for, and the failure is thrown.
 */
export async function eachOf<T, R>(
  items: readonly T[],
  limit: number,
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<R>,
): Promise<R[]> {
  const failed = sharedAbortController();
  using linked = linkSignals(signal, failed.signal);
  const answers: R[] = new Array(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length && !linked.signal.aborted) {
      const at = next++;
      try {
        answers[at] = await work(items[at] as T, linked.signal);
      } catch (error) {
        failed.abort(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  linked.signal.throwIfAborted();
  return answers;
}
