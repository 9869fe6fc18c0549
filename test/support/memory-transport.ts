import type { GossipAddress, GossipStream, Transport, TransportHandlers } from "../../src/gossip/index.ts";

/** What a memory transport needs of the network that it is plugged into. */
export interface MemoryLink {
  /** Takes a datagram, which nobody changes any more, to {@link MemoryTransport.receivePacket} of the other side, some time later or never. */
  packet(from: MemoryTransport, to: GossipAddress, bytes: Uint8Array): void;
  /** The transport at `to` once a connection stands; rejects if it refuses, hangs until the signal aborts if nothing answers. */
  connect(from: MemoryTransport, to: GossipAddress, signal: AbortSignal): Promise<MemoryTransport>;
  /** Calls `deliver` once stream bytes have crossed; in order for one `lane`. */
  stream(from: GossipAddress, to: GossipAddress, lane: { freeAtMs: number }, deliver: () => void): void;
  resolve(host: string): readonly string[];
  /** Calls `fn` when the process of `host` runs again, at once if it is not paused. */
  whenRunning(host: string, fn: () => void): void;
  afterPoll(host: string, fn: () => void): void;
  removed(transport: MemoryTransport): void;
}

/** The in-memory twin of the network transport. */
export class MemoryTransport implements Transport {
  readonly address: GossipAddress;
  readonly advertiseHost: string;
  /** Datagrams that were sent, lost ones included. */
  packetsOut = 0;
  packetBytesOut = 0;
  /** Connections that were opened from here. */
  dials = 0;
  readonly #link: MemoryLink;
  readonly #streams = new Set<MemoryStream>();
  #handlers: TransportHandlers | undefined;
  #closed = false;

  constructor(address: GossipAddress, link: MemoryLink) {
    this.address = address;
    this.advertiseHost = address.host;
    this.#link = link;
  }

  /** Streams that this side has not closed. */
  get openStreams(): number {
    return this.#streams.size;
  }

  start(handlers: TransportHandlers): void {
    this.#handlers = handlers;
  }

  sendPacket(bytes: Uint8Array, to: GossipAddress): void {
    if (this.#closed) return;
    this.packetsOut++;
    this.packetBytesOut += bytes.length;
    this.#link.packet(this, to, new Uint8Array(bytes));
  }

  /** Hands a datagram over as if it had come from `from`. */
  receivePacket(bytes: Uint8Array, from: GossipAddress): void {
    if (!this.#closed) this.#handlers?.onPacket(bytes, from);
  }

  async dial(to: GossipAddress, signal: AbortSignal): Promise<GossipStream> {
    this.dials++;
    const target = await this.#link.connect(this, to, signal);
    const near = new MemoryStream(this.address, to, this.#link);
    const far = new MemoryStream(to, this.address, this.#link);
    near.peer = far;
    far.peer = near;
    this.#track(near);
    target.#accept(far);
    return near;
  }

  async resolve(host: string): Promise<readonly string[]> {
    const found = this.#link.resolve(host);
    if (found.length === 0) throw Object.assign(new Error("no such host"), { code: "ENOTFOUND" });
    return found;
  }

  afterPoll(fn: () => void): void {
    this.#link.afterPoll(this.address.host, fn);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const stream of this.#streams) stream.reset();
    this.#link.removed(this);
  }

  #accept(stream: MemoryStream): void {
    if (this.#closed) stream.reset();
    else this.#serve(stream);
  }

  #serve(stream: MemoryStream): void {
    this.#track(stream);
    this.#link.whenRunning(this.address.host, () => {
      if (this.#handlers) void this.#handlers.onStream(stream);
      else stream.reset();
    });
  }

  #track(stream: MemoryStream): void {
    this.#streams.add(stream);
    stream.onClosed = () => this.#streams.delete(stream);
  }
}

/** What crosses a stream: bytes, its end, or its breaking. */
type Chunk = Uint8Array | "end" | "reset";

class MemoryStream implements GossipStream {
  readonly remote: GossipAddress;
  readonly #local: GossipAddress;
  readonly #link: MemoryLink;
  readonly #lane = { freeAtMs: 0 };
  readonly #received: Chunk[] = [];
  #wake: (() => void) | undefined;
  #broken = false;
  peer: MemoryStream | undefined;
  onClosed: () => void = () => {};

  constructor(local: GossipAddress, remote: GossipAddress, link: MemoryLink) {
    this.#local = local;
    this.remote = remote;
    this.#link = link;
  }

  async write(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#broken) throw brokenPipe();
    this.#deliver(new Uint8Array(bytes));
  }

  async read(signal: AbortSignal): Promise<Uint8Array | undefined> {
    for (;;) {
      signal.throwIfAborted();
      const chunk = this.#received.shift();
      if (chunk === "end") return undefined;
      if (chunk === "reset") this.#break();
      else if (chunk) return chunk;
      if (this.#broken) throw brokenPipe();
      await this.#arrival(signal);
    }
  }

  /** The next chunk is there, or the stream is broken, or the signal aborted. */
  #arrival(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#wake = wake;
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  close(): void {
    if (!this.#broken) this.#deliver("end");
    this.#break();
  }

  /** Ends it as the end of the process does: the other side hears of it. */
  reset(): void {
    if (!this.#broken) this.#deliver("reset");
    this.#break();
  }

  #break(): void {
    this.#broken = true;
    this.#wake?.();
    this.onClosed();
  }

  #deliver(chunk: Chunk): void {
    const { peer } = this;
    if (!peer) return;
    this.#link.stream(this.#local, this.remote, this.#lane, () => {
      this.#link.whenRunning(this.remote.host, () => {
        peer.#received.push(chunk);
        peer.#wake?.();
      });
    });
  }
}

function brokenPipe(): Error {
  return Object.assign(new Error("the stream is broken"), { code: "EPIPE" });
}
