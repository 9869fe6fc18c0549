import { type Clock, CodedError, sharedAbortController } from "../../base/index.ts";

const steps = 10;

/**
 * Waits for `work` for `ms`, in which this process can take notice: time during which it was busy with something else, or got
 * no processor, hardly counts. Otherwise every server would look slow to a process that is. Errors: `deadline_exceeded`, the
 * work's own, the signal's reason. The work goes on.
 */
export async function patiently<T>(clock: Clock, ms: number, work: Promise<T>, signal: AbortSignal): Promise<T> {
  const over = sharedAbortController();
  const settled = work.finally(() => over.abort());
  settled.catch(() => {});
  const wait = async () => {
    for (let step = 0; step < steps; step++) await clock.sleep(ms / steps, over.signal);
    throw new CodedError("deadline_exceeded", "deadline passed", { afterMs: ms });
  };
  const onAbort = () => over.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    await wait().catch((error) => {
      if (CodedError.is(error, "deadline_exceeded")) throw error;
      signal.throwIfAborted();
    });
    return await settled;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
