import type { Random } from "../../src/base/index.ts";
import type { GossipAddress, GossipStream, Transport, TransportHandlers } from "../../src/gossip/index.ts";

/** What one member sent and received: application bytes, without the headers of UDP, TCP and IP. */
export interface Traffic {
  udpPacketsOut: number;
  udpBytesOut: number;
  udpPacketsIn: number;
  udpBytesIn: number;
  tcpDials: number;
  /** Both directions of the streams that this member opened. */
  tcpBytes: number;
}

/** A transport that counts what passes and loses a share of the datagrams that leave. */
export class CountingTransport implements Transport {
  readonly traffic: Traffic = { udpPacketsOut: 0, udpBytesOut: 0, udpPacketsIn: 0, udpBytesIn: 0, tcpDials: 0, tcpBytes: 0 };
  /** Share of outgoing datagrams that are counted and then lost, 0 to 1. */
  lossOut: number;
  readonly #inner: Transport;
  readonly #random: Random;

  constructor(options: { lossOut: number }, deps: { inner: Transport; random: Random }) {
    this.lossOut = options.lossOut;
    this.#inner = deps.inner;
    this.#random = deps.random;
  }

  get address(): GossipAddress {
    return this.#inner.address;
  }

  get advertiseHost(): string {
    return this.#inner.advertiseHost;
  }

  start(handlers: TransportHandlers): void {
    this.#inner.start({
      onPacket: (bytes, from) => {
        this.traffic.udpPacketsIn++;
        this.traffic.udpBytesIn += bytes.length;
        handlers.onPacket(bytes, from);
      },
      onStream: (stream) => handlers.onStream(stream),
    });
  }

  sendPacket(bytes: Uint8Array, to: GossipAddress): void {
    this.traffic.udpPacketsOut++;
    this.traffic.udpBytesOut += bytes.length;
    if (this.lossOut === 0 || this.#random.float() >= this.lossOut) this.#inner.sendPacket(bytes, to);
  }

  async dial(to: GossipAddress, signal: AbortSignal): Promise<GossipStream> {
    const stream = await this.#inner.dial(to, signal);
    this.traffic.tcpDials++;
    return new CountingStream(stream, this.traffic);
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

class CountingStream implements GossipStream {
  readonly #inner: GossipStream;
  readonly #traffic: Traffic;

  constructor(inner: GossipStream, traffic: Traffic) {
    this.#inner = inner;
    this.#traffic = traffic;
  }

  get remote(): GossipAddress {
    return this.#inner.remote;
  }

  write(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    this.#traffic.tcpBytes += bytes.length;
    return this.#inner.write(bytes, signal);
  }

  async read(signal: AbortSignal): Promise<Uint8Array | undefined> {
    const bytes = await this.#inner.read(signal);
    this.#traffic.tcpBytes += bytes?.length ?? 0;
    return bytes;
  }

  close(): void {
    this.#inner.close();
  }
}
