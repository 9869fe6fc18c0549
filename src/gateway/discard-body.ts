import type { IncomingMessage } from "node:http";
import type { Clock } from "../base/index.ts";

/**
 * Reads and drops what is left of a request's body, so that a client in the middle of sending gets to read the answer and the
 * connection stays usable. One that sends more than `maxBytes`, or for longer than `timeoutMs`, is cut off.
 */
export function discardBody(request: IncomingMessage, limits: { maxBytes: number; timeoutMs: number }, clock: Clock): void {
  if (request.complete || request.destroyed) {
    request.resume();
    return;
  }
  const timer = clock.timer(limits.timeoutMs, () => request.destroy());
  let bytes = 0;
  request.on("data", (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (bytes > limits.maxBytes) request.destroy();
  });
  request.on("close", () => timer[Symbol.dispose]());
  request.on("end", () => timer[Symbol.dispose]());
  request.on("error", () => {});
}
