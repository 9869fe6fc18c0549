import { Client, connectivityState, credentials } from "@grpc/grpc-js";
import { LRUCache } from "lru-cache";
import { abortable, type Clock, CodedError } from "../base/index.ts";
import type { Address } from "./address.ts";
import type { ClientOptions } from "./client-options.ts";

type PoolOptions = Pick<ClientOptions, "maxConnections" | "connectTimeoutMs" | "windowBytes" | "maxReceiveBytes" | "keepaliveMs">;

/** An address that did not answer is not dialled again for this long; concurrent calls then fail over at once. */
const restMs = 100;
/** Nor is it asked before others for this long. */
const avoidMs = 5000;

/** One connection per node, least recently used first to go. */
export class ChannelPool {
  readonly #options: PoolOptions;
  readonly #clock: Clock;
  readonly #clients: LRUCache<string, Client>;
  /** When dialling an address failed last, on the monotonic clock. */
  readonly #failedAt: LRUCache<string, number>;

  constructor(options: PoolOptions, deps: { clock: Clock }) {
    this.#options = options;
    this.#clock = deps.clock;
    // Closing lets the calls that run on a connection finish.
    this.#clients = new LRUCache({ max: options.maxConnections, dispose: (client) => client.close() });
    this.#failedAt = new LRUCache({ max: options.maxConnections });
  }

  /**
   * A client with a live connection. What it rejects with was never sent, so the call may go elsewhere.
   *
   * Errors: `node_unavailable`, or the signal's reason.
   */
  async connect(address: Address, signal: AbortSignal): Promise<Client> {
    const deadline = this.#clock.now() + this.#options.connectTimeoutMs;
    const channel = this.#client(address).getChannel();
    let state = channel.getConnectivityState(true);
    if (state === connectivityState.TRANSIENT_FAILURE) return this.#redial(address, signal);
    while (state !== connectivityState.READY) {
      const seen = state;
      const changed = new Promise<Error | undefined>((resolve) => channel.watchConnectivityState(seen, deadline, resolve));
      const late = await abortable(changed, signal);
      state = channel.getConnectivityState(true);
      if (late || state === connectivityState.TRANSIENT_FAILURE || state === connectivityState.SHUTDOWN) {
        this.#failedAt.set(address.url, this.#clock.monotonic());
        if (late) this.renew(address);
        throw new CodedError("node_unavailable", late ? "the node accepts no connection in time" : "cannot connect to the node", {
          address: address.url,
        });
      }
    }
    this.#failedAt.delete(address.url);
    return this.#client(address);
  }

  /** The address failed a moment ago: better ask others first. */
  shaky(address: Address): boolean {
    const failedAt = this.#failedAt.get(address.url);
    return failedAt !== undefined && this.#clock.monotonic() - failedAt < avoidMs;
  }

  /** Dials anew: grpc-js would sit out its back-off first, while the node may be up again. */
  #redial(address: Address, signal: AbortSignal): Promise<Client> {
    const failedAt = this.#failedAt.get(address.url);
    if (failedAt !== undefined && this.#clock.monotonic() - failedAt < restMs) {
      return Promise.reject(new CodedError("node_unavailable", "cannot connect to the node", { address: address.url }));
    }
    this.renew(address);
    this.#failedAt.set(address.url, this.#clock.monotonic());
    return this.connect(address, signal);
  }

  /** Gives up the connection; the next call opens another. */
  renew(address: Address): void {
    this.#clients.delete(address.url);
  }

  close(): void {
    this.#clients.clear();
  }

  #client(address: Address): Client {
    const known = this.#clients.get(address.url);
    if (known) return known;
    const options = this.#options;
    const client = new Client(`dns:${address.hostPort}`, address.tls ? credentials.createSsl() : credentials.createInsecure(), {
      "grpc.enable_channelz": 0,
      "grpc.enable_retries": 0,
      "grpc.use_local_subchannel_pool": 1,
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.min_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 1000,
      "grpc.keepalive_time_ms": options.keepaliveMs,
      "grpc.keepalive_timeout_ms": 20_000,
      "grpc.max_receive_message_length": options.maxReceiveBytes,
      "grpc-node.flow_control_window": options.windowBytes,
    });
    this.#clients.set(address.url, client);
    return client;
  }
}
