import type { GossipAddress } from "./address.ts";

/** One stream to a peer. Each side sends once and reads once. */
export interface GossipStream {
  readonly remote: GossipAddress;
  /** Resolves when the bytes are handed to the network. Rejects when the stream breaks or with the signal's reason. */
  write(bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  /** The next bytes, at least one; undefined at the end. Rejects when the stream breaks or with the signal's reason. */
  read(signal: AbortSignal): Promise<Uint8Array | undefined>;
  /** Ends the stream once what was written has left, and gives up on that after a short time. */
  close(): void;
}

export interface TransportHandlers {
  /** A datagram came in. Called synchronously, must not throw; `bytes` may be kept. */
  onPacket(bytes: Uint8Array, from: GossipAddress): void;
  /** A peer opened a stream; the handler closes it. Must not reject. */
  onStream(stream: GossipStream): Promise<void>;
}

/**
 * The network as a member sees it: best-effort datagrams and reliable streams on one port number. An implementation
 * bounds what it buffers and how many streams it serves; what is over is refused, never queued without end.
 */
export interface Transport {
  /** The bound address. */
  readonly address: GossipAddress;
  /** The IP address that peers should use if nothing else is configured. */
  readonly advertiseHost: string;
  /** Starts delivery. Nothing is delivered before, and nothing after {@link close} began: streams that come then are ended. */
  start(handlers: TransportHandlers): void;
  /** Sends one datagram. Never blocks and never throws; it may be lost, doubled or overtaken. `to.host` is an IP address. */
  sendPacket(bytes: Uint8Array, to: GossipAddress): void;
  /** Opens a stream. `to.host` is an IP address. */
  dial(to: GossipAddress, signal: AbortSignal): Promise<GossipStream>;
  /** All IP addresses of a host name, or the address itself. Rejects when there is none. */
  resolve(host: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Calls `fn` once every packet that has reached this process by now was delivered. */
  afterPoll(fn: () => void): void;
  /** Stops delivery, breaks open streams, and resolves when nothing is open any more. Idempotent. */
  close(): Promise<void>;
}

/** Binds a transport. Errors: the platform's when the address cannot be bound. */
export type TransportFactory = (bind: GossipAddress) => Promise<Transport>;
