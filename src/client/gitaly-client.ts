import { type Clock, CodedError, type Random, sharedAbortController, systemClock, systemRandom } from "../base/index.ts";
import type { CommitServiceDefinition, CommitServiceHandlers } from "../proto/gen/gitaly/CommitService.ts";
import type { RefServiceDefinition, RefServiceHandlers } from "../proto/gen/gitaly/RefService.ts";
import type { RepositoryServiceDefinition, RepositoryServiceHandlers } from "../proto/gen/gitaly/RepositoryService.ts";
import type { ServerServiceDefinition, ServerServiceHandlers } from "../proto/gen/gitaly/ServerService.ts";
import type { SmartHTTPServiceDefinition, SmartHTTPServiceHandlers } from "../proto/gen/gitaly/SmartHTTPService.ts";
import type { ClusterServiceDefinition, ClusterServiceHandlers } from "../proto/gen/gitaly_gossip/v1/ClusterService.ts";
import type { HealthDefinition, HealthHandlers } from "../proto/gen/grpc/health/v1/Health.ts";
import { parseAddress } from "./address.ts";
import { CallRunner } from "./call-runner.ts";
import { ChannelPool } from "./channel-pool.ts";
import { type ClientMethod, methodsOf } from "./client-method.ts";
import { type CallOptions, type ClientOptions, defaultClientOptions } from "./client-options.ts";
import { Consistency } from "./consistency.ts";
import { OwnerMemory } from "./owner-memory.ts";
import type { TypedService } from "./typed-service.ts";

export interface ClientDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/** Calls a cluster's services at whichever node owns the repository. Errors are `CodedError`s with `fields.grpcCode`. */
export class GitalyClient implements AsyncDisposable {
  readonly server: TypedService<ServerServiceDefinition, ServerServiceHandlers>;
  readonly repository: TypedService<RepositoryServiceDefinition, RepositoryServiceHandlers>;
  readonly ref: TypedService<RefServiceDefinition, RefServiceHandlers>;
  readonly commit: TypedService<CommitServiceDefinition, CommitServiceHandlers>;
  readonly smartHttp: TypedService<SmartHTTPServiceDefinition, SmartHTTPServiceHandlers>;
  readonly cluster: TypedService<ClusterServiceDefinition, ClusterServiceHandlers>;
  readonly health: TypedService<HealthDefinition, HealthHandlers>;
  readonly #runner: CallRunner;
  readonly #consistency: Consistency;
  readonly #pool: ChannelPool;
  readonly #closed = sharedAbortController();

  constructor(options: Partial<ClientOptions> & Pick<ClientOptions, "addresses">, deps: Partial<ClientDeps> = {}) {
    if (options.token !== undefined) throw new CodedError("not_built_yet", "the client cannot use a token yet");
    const all: ClientOptions = { ...defaultClientOptions, ...options };
    const addresses = [all.addresses].flat().map(parseAddress);
    if (addresses.length === 0) throw new CodedError("invalid_argument", "the client needs an address");
    const clock = deps.clock ?? systemClock;
    this.#pool = new ChannelPool(all, { clock });
    this.#consistency = new Consistency(all.consistency ?? "");
    this.#runner = new CallRunner(all, {
      clock,
      random: deps.random ?? systemRandom,
      pool: this.#pool,
      memory: new OwnerMemory(all.maxRememberedRepositories),
      consistency: this.#consistency,
      addresses,
      closed: this.#closed.signal,
    });
    this.server = this.#service("gitaly.ServerService");
    this.repository = this.#service("gitaly.RepositoryService");
    this.ref = this.#service("gitaly.RefService");
    this.commit = this.#service("gitaly.CommitService");
    this.smartHttp = this.#service("gitaly.SmartHTTPService");
    this.cluster = this.#service("gitaly_gossip.v1.ClusterService");
    this.health = this.#service("grpc.health.v1.Health");
  }

  /** What this client has to bring along to see its own writes, for the option `consistency` of another client; "" for nothing. */
  get consistency(): string {
    return this.#consistency.text;
  }

  #service<T>(name: string): T {
    return Object.fromEntries(
      methodsOf(name).map(([key, method]) => [key, (request: object, options: CallOptions = {}) => this.#call(method, request, options)]),
    ) as T;
  }

  #call(method: ClientMethod, request: object, options: CallOptions): AsyncIterable<object> | Promise<object> {
    const { requestStream, responseStream } = method.definition;
    const requests = requestStream ? (request as AsyncIterable<object>)[Symbol.asyncIterator]() : single(request);
    const responses = this.#runner.run(method, requests, options);
    return responseStream ? responses : only(responses, method);
  }

  /** Ends all calls and connections. */
  async close(): Promise<void> {
    this.#closed.abort(new CodedError("cancelled", "the client is closed"));
    this.#pool.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

async function* single(request: object): AsyncGenerator<object> {
  yield request;
}

/** Reads to the end, because the status comes after the message. */
async function only(responses: AsyncIterable<object>, method: ClientMethod): Promise<object> {
  let response: object | undefined;
  for await (const message of responses) response = message;
  if (!response) throw new CodedError("protocol_error", "the node sent no response", { method: method.name });
  return response;
}
