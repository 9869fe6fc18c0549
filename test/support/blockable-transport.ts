import { formatAddress, type GossipAddress, type GossipStream, type Transport, type TransportHandlers } from "../../src/gossip/index.ts";

/** Another transport whose packets and streams to some addresses vanish, as in a network that is cut, or is bad. */
export class BlockableTransport implements Transport {
  readonly #inner: Transport;
  #blocked: ReadonlySet<string> = new Set();
  /** Of the packets; streams are not touched. */
  lossShare = 0;
  /** Size of the largest datagram that was sent. */
  largestPacketBytes = 0;

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  get address(): GossipAddress {
    return this.#inner.address;
  }

  get advertiseHost(): string {
    return this.#inner.advertiseHost;
  }

  /** Cuts off exactly these, HOST:PORT each. */
  block(addresses: readonly string[]): void {
    this.#blocked = new Set(addresses);
  }

  start(handlers: TransportHandlers): void {
    this.#inner.start(handlers);
  }

  sendPacket(bytes: Uint8Array, to: GossipAddress): void {
    this.largestPacketBytes = Math.max(this.largestPacketBytes, bytes.length);
    if (!this.#blocked.has(formatAddress(to)) && Math.random() >= this.lossShare) this.#inner.sendPacket(bytes, to);
  }

  async dial(to: GossipAddress, signal: AbortSignal): Promise<GossipStream> {
    if (!this.#blocked.has(formatAddress(to))) return await this.#inner.dial(to, signal);
    // Nobody says no either.
    return await new Promise((_, reject) => {
      signal.throwIfAborted();
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  resolve(host: string, signal: AbortSignal): Promise<readonly string[]> {
    return this.#inner.resolve(host, signal);
  }

  afterPoll(fn: () => void): void {
    this.#inner.afterPoll(fn);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
