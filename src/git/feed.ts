import type { Writable } from "node:stream";

export interface FeedResult {
  /** Whether the source has nothing more to give. */
  readonly sourceEnded: boolean;
  /** What the source threw. */
  readonly error: unknown;
}

/**
 * Writes `source` into a child's stdin at the child's pace, then gives it end-of-file. Stops when `stopped` resolves, and returns at once
 * then, whatever the source is doing. Never rejects. The source is left open, for whoever drains it.
 */
export async function feed(source: AsyncIterator<Uint8Array>, stdin: Writable, stopped: Promise<unknown>): Promise<FeedResult> {
  const unlessStopped = stopper(stopped);
  try {
    for (;;) {
      const next = await unlessStopped(source.next());
      if (next === undefined) return { sourceEnded: false, error: undefined };
      if (next.done) {
        stdin.end();
        return { sourceEnded: true, error: undefined };
      }
      if (!stdin.write(next.value)) await unlessStopped(drained(stdin));
    }
  } catch (error) {
    return { sourceEnded: true, error };
  }
}

/** Not Promise.race: against one long promise that would keep every chunk alive until the end. */
function stopper(stopped: Promise<unknown>): <T>(promise: Promise<T>) => Promise<T | undefined> {
  let isStopped = false;
  let onStop = () => {};
  void stopped.then(() => {
    isStopped = true;
    onStop();
  });
  return (promise) =>
    new Promise((resolve, reject) => {
      onStop = () => resolve(undefined);
      promise.then(resolve, reject);
      if (isStopped) onStop();
    });
}

async function drained(stdin: Writable): Promise<void> {
  if (stdin.destroyed || !stdin.writableNeedDrain) return;
  await new Promise<void>((resolve) => {
    const wake = () => {
      stdin.off("drain", wake);
      stdin.off("close", wake);
      resolve();
    };
    stdin.once("drain", wake);
    stdin.once("close", wake);
  });
}
