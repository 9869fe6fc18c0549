import type { ServerResponse } from "node:http";
import { abortable, type Clock } from "../base/index.ts";

export interface SendOptions {
  /** Time in which a client that reads nothing is given up. */
  readonly idleTimeoutMs: number;
  readonly onIdle: () => void;
  readonly signal: AbortSignal;
  /** What follows the body, asked for once all of it is sent. Its names belong into the header `Trailer`. */
  readonly trailers?: () => Promise<Readonly<Record<string, string>>>;
}

/** Written at once, so that a client which reads slowly is seen to read. */
const maxPieceBytes = 65_536;

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
      for (let at = 0; at < next.value.length; at += maxPieceBytes) {
        const piece = next.value.subarray(at, at + maxPieceBytes);
        if (!response.write(piece)) await heard(response, "drain", options, clock);
        sentBytes += piece.length;
      }
    }
  } catch (error) {
    // Not awaited: what ignores its signal must not hold the connection.
    void Promise.resolve(iterator.return?.()).catch(() => {});
    throw error;
  }
  const trailers = await options.trailers?.();
  if (trailers) response.addTrailers(trailers);
  response.end();
  // Of the last pieces too: nobody else would ever give this client up.
  if (!response.writableFinished) await heard(response, "finish", options, clock);
  return sentBytes;
}

async function heard(response: ServerResponse, event: "drain" | "finish", options: SendOptions, clock: Clock): Promise<void> {
  using _timer = clock.timer(options.idleTimeoutMs, options.onIdle);
  let onEvent = () => {};
  try {
    await abortable(
      new Promise<void>((resolve) => {
        onEvent = resolve;
        response.once(event, onEvent);
      }),
      options.signal,
    );
  } finally {
    response.off(event, onEvent);
  }
}
