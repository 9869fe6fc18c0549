import { ServerInterceptingCall, type ServerInterceptingCallInterface, type ServerInterceptor, status } from "@grpc/grpc-js";
import type { Clock } from "../../base/index.ts";

export interface DeadlineOptions {
  /** For a call with one request and one response whose client sets no deadline, in milliseconds. Default 10 minutes. */
  readonly unaryDeadlineMs: number;
  /** For a streaming call whose client sets no deadline, in milliseconds. Default 6 hours. */
  readonly streamDeadlineMs: number;
}

class LimitedCall extends ServerInterceptingCall {
  readonly #deadline: number;

  constructor(call: ServerInterceptingCallInterface, deadline: number, onEnd: () => void) {
    super(call, {
      start: (next) =>
        next({
          onCancel: () => onEnd(),
        }),
    });
    this.#deadline = deadline;
  }

  override getDeadline(): number {
    return this.#deadline;
  }
}

/**
 * Gives a deadline to every call that comes without one. It works below the other interceptors, because grpc-js tells a
 * handler of a call only once the request is complete, and a client may never complete it.
 */
export function deadline(options: DeadlineOptions, clock: Clock): ServerInterceptor {
  return (method, call) => {
    // A layer that passes everything on costs a tenth of a small call; its class is all that it would add.
    if (Number.isFinite(Number(call.getDeadline()))) return call as ServerInterceptingCall;
    const ms = method.requestStream || method.responseStream ? options.streamDeadlineMs : options.unaryDeadlineMs;
    const timer = clock.timer(ms, () => call.sendStatus({ code: status.DEADLINE_EXCEEDED, details: "deadline passed" }));
    return new LimitedCall(call, clock.now() + ms, () => timer[Symbol.dispose]());
  };
}
