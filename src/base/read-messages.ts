import type { Readable } from "node:stream";

/**
 * The items of an object stream. Unlike the stream's own iterator it leaves the stream alone when the reader stops early,
 * because destroying one side of a duplex takes the other with it. Rejects with the signal's reason once that aborts.
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
