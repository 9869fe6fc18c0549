import type { ServerResponse } from "node:http";
import { abortable, type Clock } from "../base/index.ts";

export interface SendOptions {
  /** Time in which a client that reads nothing is given up. */
  readonly idleTimeoutMs: number;
  readonly onIdle: () => void;
  readonly signal: AbortSignal;
}

/**
 * Streams `chunks` as the response's body at the pace of the client. Headers go out with the first chunk, so that a failure
 * before it can still become a status; after it the response is cut off, never ended as if it were whole.
 *
 * @returns the number of bytes sent.
 */
export async function sendAnswer(
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  chunks: AsyncIterable<Uint8Array>,
  options: SendOptions,
  clock: Clock,
): Promise<number> {
  const iterator = chunks[Symbol.asyncIterator]();
  let sentBytes = 0;
  try {
    for (;;) {
      const next = await abortable(iterator.next(), options.signal);
      if (!response.headersSent) response.writeHead(200, headers);
      if (next.done) break;
      sentBytes += next.value.length;
      if (next.value.length > 0 && !response.write(next.value)) await drained(response, options, clock);
    }
  } catch (error) {
    // Not awaited: what ignores its signal must not hold the connection.
    void Promise.resolve(iterator.return?.()).catch(() => {});
    throw error;
  }
  response.end();
  return sentBytes;
}

async function drained(response: ServerResponse, options: SendOptions, clock: Clock): Promise<void> {
  using _timer = clock.timer(options.idleTimeoutMs, options.onIdle);
  let onDrain = () => {};
  try {
    await abortable(
      new Promise<void>((resolve) => {
        onDrain = resolve;
        response.once("drain", onDrain);
      }),
      options.signal,
    );
  } finally {
    response.off("drain", onDrain);
  }
}
