import type { Readable, Writable } from "node:stream";

/**
 * The messages of a request stream. Unlike the stream's own iterator it leaves the stream alone when the reader stops
 * early, because destroying it would take the response with it.
 */
export async function* readMessages(stream: Readable, signal: AbortSignal): AsyncGenerator<object, void, undefined> {
  let wake = () => {};
  let ended = stream.readableEnded;
  const onWake = () => wake();
  const onEnd = () => {
    ended = true;
    wake();
  };
  stream.on("readable", onWake);
  stream.once("end", onEnd);
  signal.addEventListener("abort", onWake, { once: true });
  try {
    for (;;) {
      signal.throwIfAborted();
      const message = stream.read() as object | null;
      if (message !== null) yield message;
      else if (ended) return;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
          // The event may have come before there was anyone to wake.
          if (ended || signal.aborted || stream.readableLength > 0) resolve();
        });
      }
    }
  } finally {
    stream.off("readable", onWake);
    stream.off("end", onEnd);
    signal.removeEventListener("abort", onWake);
  }
}

/** Writes one message; resolves when the next may follow. A stream that is over never drains, hence the signal. */
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
