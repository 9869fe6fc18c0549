import { logVerbosity, Server, ServerCredentials, setLogVerbosity } from "@grpc/grpc-js";
import type { ServiceDefinition } from "@grpc/proto-loader";
import { abortable, type Clock, CodedError, hostPort, neverAborted, type Random } from "../base/index.ts";
import type { Logger, Metrics } from "../observability/index.ts";
import { packageDefinition, readDescriptorSet } from "../proto/index.ts";
import type { MemberView } from "../routing/index.ts";
import { flowControl } from "./flow-control.ts";
import type { ServiceMap } from "./handler.ts";
import { healthService } from "./health-service.ts";
import { availability, type NodeState } from "./interceptors/availability.ts";
import { correlationId } from "./interceptors/correlation-id.ts";
import { deadline } from "./interceptors/deadline.ts";
import { limit } from "./interceptors/limit.ts";
import { log } from "./interceptors/log.ts";
import { maxStaleness } from "./interceptors/max-staleness.ts";
import { metrics } from "./interceptors/metrics.ts";
import { nodeName } from "./interceptors/node-name.ts";
import { redirect } from "./interceptors/redirect.ts";
import { OpenSockets } from "./open-sockets.ts";
import { DescriptorIndex } from "./reflection/descriptor-index.ts";
import { reflectionService } from "./reflection/reflection-service.ts";
import { defaultRpcOptions, type RpcOptions } from "./rpc-options.ts";
import type { Interceptor } from "./server-call.ts";
import { adaptService, type CallRuntime } from "./service-adapter.ts";

export interface RpcDeps {
  readonly services: ServiceMap;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  /** The cluster as this node sees it now. */
  readonly view: () => MemberView;
  /** k of a repository that has its own; undefined: the cluster's. */
  readonly replicasOf: (relativePath: string) => number | undefined;
  readonly nodeName: string;
  /** The one storage that requests may name. */
  readonly storageName: string;
  readonly state: () => NodeState;
}

/** The node's gRPC endpoint. */
export interface RpcServer extends AsyncDisposable {
  /** Binds and accepts; port 0 takes a free one. `errnoOf` of the error is "EADDRINUSE" where the port is taken. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ host: string; port: number }>;
  /** Stops listening and lets running calls finish, at most until `signal` aborts; then ends what is left. */
  close(signal?: AbortSignal): Promise<void>;
  /** Ends every call and connection now. */
  destroy(): Promise<void>;
}

/** Handlers that were told to stop get this long before the server is gone all the same. */
const handlerGraceMs = 2000;
/** After the last call a client gets this long to take its leave before a drain goes on without it. */
const goodbyeMs = 3000;

/** Builds the gRPC server with its interceptors, health and reflection; it does not listen yet. */
export async function createRpcServer(options: Partial<RpcOptions>, deps: RpcDeps): Promise<RpcServer> {
  return new GrpcServer({ ...defaultRpcOptions, ...options }, deps);
}

class GrpcServer implements RpcServer {
  readonly #server: Server;
  readonly #window: ReturnType<typeof flowControl>;
  readonly #clock: Clock;
  readonly #sockets = new OpenSockets();
  /** Calls that run -> whether they are endless questions about the node, which no drain waits for. */
  readonly #running = new Map<AbortController, boolean>();
  #idle = () => {};
  #closed: Promise<void> | undefined;

  constructor(options: RpcOptions, deps: RpcDeps) {
    // Its lines are not ours; everything it would say comes back as an error or a status.
    if (process.env["GRPC_VERBOSITY"] === undefined) setLogVerbosity(logVerbosity.NONE);
    this.#clock = deps.clock;
    this.#server = new Server({
      interceptors: [deadline(options, deps.clock)],
      "grpc.enable_channelz": 0,
      "grpc.max_concurrent_streams": options.maxStreamsPerConnection,
      "grpc.max_receive_message_length": options.maxReceiveBytes,
      "grpc.keepalive_time_ms": options.keepaliveMs,
      "grpc.keepalive_timeout_ms": 20_000,
    });
    this.#window = flowControl(this.#server, options.windowBytes);
    if (!this.#window) deps.logger.warn("this version of grpc-js hides its flow control; uploads over long lines will be slow");
    this.#addServices(options, deps);
  }

  #addServices(options: RpcOptions, deps: RpcDeps): void {
    const names: string[] = [];
    const reflection = reflectionService(new DescriptorIndex(readDescriptorSet()), () => names);
    const all: ServiceMap = {
      ...deps.services,
      "grpc.health.v1.Health": healthService({ state: deps.state, clock: deps.clock, services: () => names }),
      "grpc.reflection.v1.ServerReflection": reflection,
      "grpc.reflection.v1alpha.ServerReflection": reflection,
    };
    const runtime: CallRuntime = {
      interceptors: interceptorsOf(options, deps),
      firstMessageMs: options.firstMessageMs,
      clock: deps.clock,
      logger: deps.logger,
      track: (method, abort) => {
        this.#running.set(abort, method.route.target === undefined && method.type !== "unary");
        return { [Symbol.dispose]: () => this.#untrack(abort) };
      },
    };
    for (const [name, handlers] of Object.entries(all)) {
      const definition = packageDefinition[name];
      if (!definition || "format" in definition) throw new TypeError(`no service ${name} in the .proto files`);
      this.#server.addService(definition, adaptService(name, definition as ServiceDefinition, handlers, runtime));
      names.push(name);
    }
    names.sort();
  }

  #untrack(abort: AbortController): void {
    this.#running.delete(abort);
    if (this.#running.size === 0) this.#idle();
  }

  async listen({ host, port }: { host: string; port: number }): Promise<{ host: string; port: number }> {
    this.#window?.streams();
    const target = hostPort(host, port);
    const bound = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(target, ServerCredentials.createInsecure(), (error, boundPort) => {
        if (error) reject(bindError(error, target));
        else resolve(boundPort);
      });
    });
    this.#window?.connections();
    this.#sockets.watch(this.#server);
    return { host, port: bound };
  }

  close(signal: AbortSignal = neverAborted): Promise<void> {
    this.#closed ??= this.#close(signal);
    return this.#closed;
  }

  async #close(signal: AbortSignal): Promise<void> {
    const reason = new CodedError("node_unavailable", "the node is stopping");
    for (const [abort, endless] of this.#running) if (endless) abort.abort(reason);
    const drained = new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
    const stopWaiting = new AbortController();
    await abortable(Promise.race([drained, this.#callsOver(stopWaiting.signal)]), signal).catch(() => {
      for (const abort of this.#running.keys()) abort.abort(reason);
    });
    stopWaiting.abort();
    this.#cutOff();
    await drained;
    await this.#handlersDone();
  }

  #cutOff(): void {
    this.#server.forceShutdown();
    this.#sockets.destroy();
  }

  /** Resolves when no call has been running for a while. */
  async #callsOver(signal: AbortSignal): Promise<void> {
    do {
      if (this.#running.size > 0) {
        await new Promise<void>((resolve) => {
          this.#idle = resolve;
        });
      }
      await this.#clock.sleep(goodbyeMs, signal);
    } while (this.#running.size > 0);
  }

  /** A call can be over for its client while its handler still cleans up. */
  async #handlersDone(): Promise<void> {
    if (this.#running.size === 0) return;
    const stopWaiting = new AbortController();
    const idle = new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
    await Promise.race([idle, this.#clock.sleep(handlerGraceMs, stopWaiting.signal).catch(() => {})]);
    stopWaiting.abort();
  }

  async destroy(): Promise<void> {
    const closing = this.close(AbortSignal.abort());
    // A drain may have been going on already.
    const reason = new CodedError("node_unavailable", "the node is stopping");
    for (const abort of this.#running.keys()) abort.abort(reason);
    this.#cutOff();
    await closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }
}

/** In the order in which they see a call. */
function interceptorsOf(options: RpcOptions, deps: RpcDeps): Interceptor[] {
  return [
    correlationId(deps.random),
    nodeName(deps.nodeName),
    log(deps.logger, deps.clock),
    metrics(deps.metrics, deps.clock),
    availability(deps.state),
    maxStaleness(),
    redirect(options, deps),
    limit(options, deps.metrics),
  ];
}

/** grpc-js keeps nothing of a failed bind but its text. */
function bindError(error: Error, target: string): Error {
  const code = /\b(E[A-Z]{3,})\b/.exec(error.message)?.[1] ?? "EUNKNOWN";
  return Object.assign(new Error(`cannot listen on ${target}: ${code}`), { code });
}
