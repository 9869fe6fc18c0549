import { linkSignals, sharedAbortController } from "../base/index.ts";

/** Runs tasks at once; when one fails, the others are aborted, waited for, and the first failure is thrown. */
export async function together<T>(tasks: readonly ((signal: AbortSignal) => Promise<T>)[], signal: AbortSignal): Promise<T[]> {
  const failed = sharedAbortController();
  using linked = linkSignals(signal, failed.signal);
  const settled = await Promise.allSettled(
    tasks.map(async (task) => {
      try {
        return await task(linked.signal);
      } catch (error) {
        failed.abort(error);
        throw error;
      }
    }),
  );
  if (failed.signal.aborted) throw failed.signal.reason;
  return settled.map((result) => (result as PromiseFulfilledResult<T>).value);
}
