import type { Logger } from "../observability/index.ts";

/** What a handler knows of its call beside the messages. */
export interface CallContext {
  /** Full method name, for example `gitaly.RefService/ListRefs`. */
  readonly method: string;
  /** Aborts when the client goes, the deadline passes, or the server stops. */
  readonly signal: AbortSignal;
  readonly correlationId: string;
  readonly logger: Logger;
  /** `gitaly-max-staleness`: how old an answer may be; undefined where the caller does not say. */
  readonly maxStalenessMs: number | undefined;
  /** `gitaly-consistency`: what the caller brings along to see its own writes, unchecked; undefined where it takes no part. */
  readonly consistency: readonly string[] | undefined;
  /** First value of a request metadata key; undefined for binary keys. */
  metadata(key: string): string | undefined;
  /** Adds to the response's trailing metadata. */
  setTrailer(key: string, value: string): void;
}

/** Rejections with a `CodedError` become the status that `errors.ts` maps its code to; anything else is INTERNAL. */
export type UnaryHandler = (request: never, call: CallContext) => Promise<object>;
export type ServerStreamHandler = (request: never, call: CallContext) => AsyncIterable<object>;
export type ClientStreamHandler = (requests: AsyncIterable<never>, call: CallContext) => Promise<object>;
export type BidiHandler = (requests: AsyncIterable<never>, call: CallContext) => AsyncIterable<object>;
export type Handler = UnaryHandler | ServerStreamHandler | ClientStreamHandler | BidiHandler;

/** Method name as in the .proto file (`ListRefs`) -> handler. The call's shape comes from the .proto file. */
export type ServiceHandlers = Readonly<Record<string, Handler>>;

/** Full service name (`gitaly.RefService`) -> its handlers. */
export type ServiceMap = Readonly<Record<string, ServiceHandlers>>;
