import type { IncomingMessage } from "node:http";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { type Clock, CodedError, errnoOf } from "../base/index.ts";

export interface RequestBodyOptions {
  /** Time without a byte after which the client is given up. */
  readonly idleTimeoutMs: number;
  /** What a compressed body may grow to. */
  readonly maxInflatedBytes: number;
  /** Called when the client sent nothing for too long. */
  readonly onIdle: () => void;
}

/**
 * The bytes of a request's body, inflated where they are compressed, read as fast as they are asked for. Leaving it early does
 * not end the connection, so that an answer can still be sent. Errors: `invalid_argument`, `limit_exceeded`.
 */
export function requestBody(request: IncomingMessage, options: RequestBodyOptions, clock: Clock): AsyncIterable<Uint8Array> {
  const encoding = (request.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (encoding === "identity") return watched(request, options, clock);
  if (encoding === "gzip" || encoding === "x-gzip") return inflated(request, options, clock);
  throw new CodedError("invalid_argument", "content encoding is not gzip", { encoding: encoding.slice(0, 100) });
}

async function* watched(stream: Readable, options: RequestBodyOptions, clock: Clock): AsyncGenerator<Uint8Array> {
  const chunks = stream.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const timer = clock.timer(options.idleTimeoutMs, options.onIdle);
      // Off before the chunk is handed out: what the reader does with it is not the client's idleness.
      const next = await chunks.next().finally(() => timer[Symbol.dispose]());
      if (next.done) return;
      yield next.value as Uint8Array;
    }
  } finally {
    await chunks.return?.();
  }
}

async function* inflated(request: IncomingMessage, options: RequestBodyOptions, clock: Clock): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  const feeding = pipeline(request.iterator({ destroyOnReturn: false }), gunzip, () => {});
  let inflatedBytes = 0;
  try {
    for await (const chunk of watched(feeding, options, clock)) {
      inflatedBytes += chunk.length;
      if (inflatedBytes > options.maxInflatedBytes) {
        throw new CodedError("limit_exceeded", "request body is too large once inflated", { maxInflatedBytes: options.maxInflatedBytes });
      }
      yield chunk;
    }
  } catch (error) {
    if (!errnoOf(error)?.startsWith("Z_")) throw error;
    throw new CodedError("invalid_argument", "request body is not valid gzip", {}, { cause: error });
  } finally {
    gunzip.destroy();
  }
}
