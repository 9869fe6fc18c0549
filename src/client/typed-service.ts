import type { MethodDefinition } from "@grpc/proto-loader";
import type { CallOptions } from "./client-options.ts";

type Known<T> = { [K in keyof T as string extends K ? never : K]: T[K] };

/** A method's function by what grpc-js gives its handler: the request or a stream of them, and a callback or not. */
type CallOf<Method, Handle> =
  Method extends MethodDefinition<infer Request, infer _Response, infer _RequestOut, infer Response>
    ? Handle extends (call: infer Call, ...rest: infer Rest) => unknown
      ? (
          request: Call extends { request: unknown } ? Request : AsyncIterable<Request>,
          options?: CallOptions,
        ) => Rest extends [] ? AsyncIterable<Response> : Promise<Response>
      : never
    : never;

/**
 * The calls of a service: one response -> Promise, many -> AsyncIterable; one request -> the message, many -> AsyncIterable.
 * `Definition` and `Handlers` are the generated types of the service.
 */
export type TypedService<Definition, Handlers> = {
  readonly [K in keyof Known<Definition> & keyof Handlers & string as Uncapitalize<K>]: CallOf<Definition[K], Handlers[K]>;
};
