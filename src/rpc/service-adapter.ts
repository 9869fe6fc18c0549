import type { EventEmitter } from "node:events";
import type { Readable, Writable } from "node:stream";
import {
  Metadata,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import type { ServiceDefinition } from "@grpc/proto-loader";
import { abortable, type Clock, CodedError, readMessages, sharedAbortController, startDeadline, writeMessage } from "../base/index.ts";
import type { Logger } from "../observability/index.ts";
import { methodRoute } from "../proto/index.ts";
import { callStatusOf, decisiveError, grpcStatusOf } from "./errors.ts";
import type { CallContext, Handler, ServiceHandlers } from "./handler.ts";
import { type Interceptor, metadataList, metadataText, type RpcMethod, type ServerCall } from "./server-call.ts";

/** What every call of a server shares. */
export interface CallRuntime {
  readonly interceptors: readonly Interceptor[];
  /** How long a client may take for the first message of a request stream, in milliseconds. */
  readonly firstMessageMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told of each call; disposed when it ends. */
  track(method: RpcMethod, abort: AbortController): Disposable;
}

type RawCall =
  | ServerUnaryCall<object, object>
  | ServerReadableStream<object, object>
  | ServerWritableStream<object, object>
  | ServerDuplexStream<object, object>;

/** A call's messages in the one form that the shapes are brought to. */
interface Messages {
  first(): Promise<object | undefined>;
  all(): AsyncIterable<object>;
  write(message: object, signal: AbortSignal): Promise<void>;
  end(trailer: Metadata): void;
  fail(error: ReturnType<typeof grpcStatusOf>): void;
}

/** Longer timers fire at once. */
const maxTimerMs = 2 ** 31 - 1;

/** The handlers of one service in the form that grpc-js calls; every call goes through the interceptors first. */
export function adaptService(
  service: string,
  definition: ServiceDefinition,
  handlers: ServiceHandlers,
  runtime: CallRuntime,
): UntypedServiceImplementation {
  const adapted: UntypedServiceImplementation = {};
  for (const [shortName, handler] of Object.entries(handlers)) {
    const { requestStream, responseStream } = definition[shortName] ?? unknownMethod(service, shortName);
    const type = requestStream ? (responseStream ? "bidi_stream" : "client_stream") : responseStream ? "server_stream" : "unary";
    const method: RpcMethod = {
      name: `${service}/${shortName}`,
      service,
      shortName,
      type,
      route: methodRoute(`${service}/${shortName}`),
    };
    adapted[shortName] = (raw: RawCall, callback?: sendUnaryData<object>) => void serve(raw, callback, method, handler, runtime);
  }
  return adapted;
}

function unknownMethod(service: string, shortName: string): never {
  throw new TypeError(`no method ${service}/${shortName} in the .proto files`);
}

/** Runs one call to its end. Never rejects. */
async function serve(
  raw: RawCall,
  callback: sendUnaryData<object> | undefined,
  method: RpcMethod,
  handler: Handler,
  runtime: CallRuntime,
): Promise<void> {
  const abort = sharedAbortController();
  const events: EventEmitter = raw;
  let over = false;
  // Comes at every end of a call, not only when the client gives up.
  events.on("cancelled", () => {
    if (!over) abort.abort(endReason(raw.getDeadline(), runtime.clock));
  });
  // A stream that breaks is reported as cancelled too; without a listener its error would end the process.
  events.on("error", () => {});
  using _tracked = runtime.track(method, abort);
  // grpc-js reports a passed deadline only once its status is sent, which a client that does not read can put off for ever.
  using _deadline = runtime.clock.timer(timeLeftMs(raw.getDeadline(), runtime.clock), () => abort.abort(deadlinePassed()));
  const messages = messagesOf(raw, callback, abort.signal, runtime);
  const call: ServerCall = {
    method,
    metadata: raw.metadata,
    peer: raw.getPeer(),
    signal: abort.signal,
    first: messages.first,
    header: new Metadata(),
    trailer: new Metadata(),
    repository: undefined,
    correlationId: "",
    maxStalenessMs: undefined,
    received: 0,
    sent: 0,
  };
  const accept = async (): Promise<void> => {
    abort.signal.throwIfAborted();
    // At once, so that the client knows that a handler has the call, and may send what cannot be sent twice.
    raw.sendMetadata(call.header);
    await runHandler(call, messages, handler, runtime).catch((error: unknown) => {
      throw abort.signal.aborted ? interrupted(method, abort.signal.reason, error) : error;
    });
    abort.signal.throwIfAborted();
  };
  try {
    await chain(runtime.interceptors, call, accept)();
    over = true;
    messages.end(call.trailer);
  } catch (error) {
    over = true;
    const trailer = call.trailer.clone();
    // Also where the header was sent: it tells a node's own word from the loss of the connection.
    trailer.merge(call.header);
    messages.fail(grpcStatusOf(callStatusOf(error, call.correlationId), trailer));
  }
}

function chain(interceptors: readonly Interceptor[], call: ServerCall, last: () => Promise<void>): () => Promise<void> {
  return interceptors.reduceRight<() => Promise<void>>((next, interceptor) => () => interceptor(call, next), last);
}

/** What a handler that was told to stop failed with; a write that was cut off may have been done. */
function interrupted(method: RpcMethod, reason: unknown, error: unknown): unknown {
  if (decisiveError(error)?.code === "outcome_unknown") return error;
  if (method.route.kind === "read" || !CodedError.is(reason, "node_unavailable")) return reason;
  return new CodedError("outcome_unknown", "the node stopped while it worked on the call; fetch and compare", {}, { cause: error });
}

function timeLeftMs(deadline: Date | number, clock: Clock): number {
  return Math.max(0, Math.min(Number(deadline) - clock.now(), maxTimerMs));
}

function deadlinePassed(): CodedError {
  return new CodedError("deadline_exceeded", "deadline passed");
}

function endReason(deadline: Date | number, clock: Clock): CodedError {
  // Timers may run a little early.
  if (clock.now() >= Number(deadline) - 5) return deadlinePassed();
  return new CodedError("cancelled", "the client cancelled the call or went away");
}

async function runHandler(call: ServerCall, messages: Messages, handler: Handler, runtime: CallRuntime): Promise<void> {
  const context = contextOf(call, runtime.logger);
  const { type } = call.method;
  const requestStream = type === "client_stream" || type === "bidi_stream";
  const request = requestStream ? counted(messages.all(), call) : await messages.first();
  if (!requestStream) call.received++;
  const reply = (handler as (request: unknown, context: CallContext) => Promise<object> | AsyncIterable<object>)(request, context);
  if (type === "unary" || type === "client_stream") {
    await messages.write(await (reply as Promise<object>), call.signal);
    call.sent++;
    return;
  }
  for await (const message of reply as AsyncIterable<object>) {
    await messages.write(message, call.signal);
    call.sent++;
  }
}

async function* counted(requests: AsyncIterable<object>, call: ServerCall): AsyncGenerator<object> {
  for await (const message of requests) {
    call.received++;
    yield message;
  }
}

function contextOf(call: ServerCall, logger: Logger): CallContext {
  let child: Logger | undefined;
  return {
    method: call.method.name,
    signal: call.signal,
    correlationId: call.correlationId,
    maxStalenessMs: call.maxStalenessMs,
    consistency: metadataList(call.metadata, "gitaly-consistency"),
    get logger() {
      child ??= logger.child({ correlation_id: call.correlationId, "grpc.request.fullMethod": `/${call.method.name}` });
      return child;
    },
    metadata: (key) => metadataText(call.metadata, key),
    // Header values are printable ASCII; anything else would make grpc-js throw.
    setTrailer: (key, value) => call.trailer.set(key, value.toWellFormed().replaceAll(/[^\x20-\x7e]+/g, encodeURIComponent)),
  };
}

function messagesOf(raw: RawCall, callback: sendUnaryData<object> | undefined, signal: AbortSignal, runtime: CallRuntime): Messages {
  const output = callback ? singleOutput(callback) : streamOutput(raw as ServerWritableStream<object, object>);
  if ("request" in raw) {
    const { request } = raw;
    return {
      first: () => Promise.resolve(request),
      all: async function* () {
        yield request;
      },
      ...output,
    };
  }
  const messages = readMessages(raw as Readable, signal);
  let first: Promise<object | undefined> | undefined;
  const readFirst = async (): Promise<object | undefined> => {
    using deadline = startDeadline(runtime.clock, runtime.firstMessageMs, signal);
    const { value } = await abortable(messages.next(), deadline.signal);
    return value ?? undefined;
  };
  const once = () => {
    first ??= readFirst();
    return first;
  };
  return {
    first: once,
    all: async function* () {
      const message = await once();
      if (message === undefined) return;
      yield message;
      yield* messages;
    },
    ...output,
  };
}

type Output = Pick<Messages, "write" | "end" | "fail">;

function singleOutput(callback: sendUnaryData<object>): Output {
  let response: object | undefined;
  return {
    write: async (message) => {
      response = message;
    },
    end: (trailer) => callback(null, response ?? {}, trailer),
    fail: (error) => callback(error),
  };
}

function streamOutput(stream: ServerWritableStream<object, object>): Output {
  const writable: Writable = stream;
  return {
    write: (message, signal) => writeMessage(writable, message, signal),
    end: (trailer) => void stream.end(trailer),
    // The only way that grpc-js has to end a stream with a status.
    fail: (error) => void stream.emit("error", error),
  };
}
