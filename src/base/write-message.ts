import type { Writable } from "node:stream";

/**
 * Writes one item to an object stream; resolves when the next may follow. A stream whose other end is gone may never
 * drain, so the signal has to end the wait.
 */
export async function writeMessage(stream: Writable, message: object, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (stream.destroyed || stream.writableEnded || stream.write(message)) return;
  await new Promise<void>((resolve, reject) => {
    const onDrain = () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    };
    const onAbort = () => {
      stream.off("drain", onDrain);
      reject(signal.reason);
    };
    stream.once("drain", onDrain);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
