import type { Metadata } from "@grpc/grpc-js";
import { commaList } from "../base/index.ts";
import type { MethodRoute } from "../proto/index.ts";

/** What is known of a method before any call. */
export interface RpcMethod {
  /** Full name, for example `gitaly.RefService/ListRefs`. */
  readonly name: string;
  readonly service: string;
  readonly shortName: string;
  readonly type: "unary" | "client_stream" | "server_stream" | "bidi_stream";
  readonly route: MethodRoute;
}

/** One call as the interceptors see it. What they find out they write here, for those further in. */
export interface ServerCall {
  readonly method: RpcMethod;
  /** Request metadata. */
  readonly metadata: Metadata;
  /** HOST:PORT of the other end. */
  readonly peer: string;
  /** Aborts when the call is over for the client: cancelled, past its deadline, or the server stops. */
  readonly signal: AbortSignal;
  /** The first request message; undefined where the client closes its side without any. */
  first(): Promise<object | undefined>;
  /** Sent when a handler starts, or with the status of a call that never got that far. */
  readonly header: Metadata;
  readonly trailer: Metadata;
  /** The repository that the call is about, once it is checked. */
  repository: { readonly storageName: string; readonly relativePath: string } | undefined;
  correlationId: string;
  /** How old an answer may be, where the caller says so. */
  maxStalenessMs: number | undefined;
  received: number;
  sent: number;
}

/** Work around a call: `next` runs the rest of the chain and the handler. Throwing ends the call with that error's status. */
export type Interceptor = (call: ServerCall, next: () => Promise<void>) => Promise<void>;

/** Request metadata as text; undefined where it is absent. */
export function metadataText(metadata: Metadata, key: string): string | undefined {
  const value = metadata.get(key)[0];
  return typeof value === "string" ? value : undefined;
}

/** All values of a request metadata key, lists taken apart; undefined where it is absent. */
export function metadataList(metadata: Metadata, key: string): readonly string[] | undefined {
  const values = metadata.get(key);
  if (values.length === 0) return undefined;
  return values.flatMap((value) => (typeof value === "string" ? commaList(value) : []));
}
