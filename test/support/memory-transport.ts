import type { GossipAddress, GossipStream, Transport, TransportHandlers } from "../../src/gossip/index.ts";

/** What a memory transport needs of the network that it is plugged into. */
export interface MemoryLink {
  /** Delivers `deliver` at the other side some time later, or never. */
  packet(from: GossipAddress, to: GossipAddress, deliver: (target: MemoryTransport) => void): void;
  /** The transport at `to` once a connection stands; rejects if it refuses, hangs until the signal aborts if nothing answers. */
  connect(from: GossipAddress, to: GossipAddress, signal: AbortSignal): Promise<MemoryTransport>;
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
  readonly #link: MemoryLink;
  readonly #streams = new Set<MemoryStream>();
  #handlers: TransportHandlers | undefined;
  #closed = false;

  constructor(address: GossipAddress, link: MemoryLink) {
    this.address = address;
    this.advertiseHost = address.host;
    this.#link = link;
  }

  start(handlers: TransportHandlers): void {
    this.#handlers = handlers;
  }

  sendPacket(bytes: Uint8Array, to: GossipAddress): void {
    if (this.#closed) return;
    const copy = Uint8Array.from(bytes);
    this.#link.packet(this.address, to, (target) => target.receivePacket(copy, this.address));
  }

  /** Hands a datagram over as if it had come from `from`. */
  receivePacket(bytes: Uint8Array, from: GossipAddress): void {
    this.#link.whenRunning(this.address.host, () => {
      if (!this.#closed) this.#handlers?.onPacket(bytes, from);
    });
  }

  async dial(to: GossipAddress, signal: AbortSignal): Promise<GossipStream> {
    const target = await this.#link.connect(this.address, to, signal);
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
    for (const stream of this.#streams) stream.break();
    this.#link.removed(this);
  }

  #accept(stream: MemoryStream): void {
    this.#track(stream);
    this.#link.whenRunning(this.address.host, () => void this.#handlers?.onStream(stream));
  }

  #track(stream: MemoryStream): void {
    this.#streams.add(stream);
    stream.onClosed = () => this.#streams.delete(stream);
  }
}

class MemoryStream implements GossipStream {
  readonly remote: GossipAddress;
  readonly #local: GossipAddress;
  readonly #link: MemoryLink;
  readonly #lane = { freeAtMs: 0 };
  readonly #received: (Uint8Array | undefined)[] = [];
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
    this.#deliver(Uint8Array.from(bytes));
  }

  async read(signal: AbortSignal): Promise<Uint8Array | undefined> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#received.length > 0) return this.#received.shift();
      if (this.#broken) throw brokenPipe();
      await new Promise<void>((resolve) => {
        const wake = () => {
          signal.removeEventListener("abort", wake);
          resolve();
        };
        this.#wake = wake;
        signal.addEventListener("abort", wake, { once: true });
      });
    }
  }

  close(): void {
    if (!this.#broken) this.#deliver(undefined);
    this.break();
  }

  break(): void {
    this.#broken = true;
    this.#wake?.();
    this.onClosed();
  }

  #deliver(chunk: Uint8Array | undefined): void {
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
