import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect, createServer, isIPv4, isIPv6, type Server, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { abortable, type Clock, CodedError, errnoOf, neverAborted } from "../base/index.ts";
import { type GossipAddress, plainHost } from "./address.ts";
import { SocketStream } from "./socket-stream.ts";
import type { GossipStream, Transport, TransportHandlers } from "./transport.ts";

/** Streams from peers at one time; more are refused, unless one of them is slow. */
const maxInboundStreams = 128;
/** A stream that is open for longer makes room for others: it should not take long to say one thing. */
const slowAfterMs = 1000;
const bindAttempts = 10;
const receiveBufferBytes = 2 << 20;

/** Binds TCP and UDP to one port number. Errors: the platform's, for example `EADDRINUSE`. */
export async function bindUdpTcp(bind: GossipAddress, deps: { clock: Clock }): Promise<Transport> {
  const host = await bindableHost(bind.host);
  for (let attempt = 1; ; attempt++) {
    const server = await listen(host, bind.port);
    const { port } = server.address() as { port: number };
    try {
      return new UdpTcpTransport({ host, port }, server, await bindDatagrams(host, port), deps.clock);
    } catch (error) {
      server.close();
      await once(server, "close");
      // The number was free for TCP only: another one may be free for both.
      if (bind.port !== 0 || errnoOf(error) !== "EADDRINUSE" || attempt === bindAttempts) throw error;
    }
  }
}

async function bindableHost(host: string): Promise<string> {
  return isIPv4(host) || isIPv6(host) ? host : (await lookup(host)).address;
}

async function listen(host: string, port: number): Promise<Server> {
  const server = createServer();
  // Whoever comes before there is someone to serve them would be held, and hold the server open.
  server.on("connection", refuse);
  server.listen({ host, port });
  await once(server, "listening");
  return server;
}

function refuse(socket: Socket): void {
  socket.destroy();
}

async function bindDatagrams(host: string, port: number): Promise<DatagramSocket> {
  const socket = createSocket({ type: isIPv6(host) ? "udp6" : "udp4" });
  try {
    socket.bind({ address: host, port });
    await once(socket, "listening");
  } catch (error) {
    socket.close();
    throw error;
  }
  for (let size = receiveBufferBytes; size >= 1 << 16; size /= 2) {
    try {
      socket.setRecvBufferSize(size);
      break;
    } catch {
      // The kernel allows less.
    }
  }
  return socket;
}

class UdpTcpTransport implements Transport {
  readonly address: GossipAddress;
  readonly advertiseHost: string;
  readonly #server: Server;
  readonly #datagrams: DatagramSocket;
  readonly #clock: Clock;
  readonly #sockets = new Set<Socket>();
  /** Streams from peers, the oldest first, and since when they are open. */
  readonly #inbound = new Map<Socket, number>();
  #closed: Promise<void> | undefined;

  constructor(address: GossipAddress, server: Server, datagrams: DatagramSocket, clock: Clock) {
    this.address = address;
    this.advertiseHost = reachableHost(address.host);
    this.#server = server;
    this.#datagrams = datagrams;
    this.#clock = clock;
    // Errors of single datagrams come here late and concern nobody any more.
    datagrams.on("error", () => {});
    server.on("error", () => {});
  }

  start(handlers: TransportHandlers): void {
    this.#datagrams.on("message", (bytes, remote) => {
      if (!this.#closed) handlers.onPacket(bytes, { host: plainHost(remote.address), port: remote.port });
    });
    this.#server.off("connection", refuse);
    this.#server.on("connection", (socket) => {
      if (this.#closed || !this.#admit(socket)) socket.destroy();
      else void handlers.onStream(this.#track(socket));
    });
  }

  sendPacket(bytes: Uint8Array, to: GossipAddress): void {
    if (this.#closed) return;
    const host = isIPv6(this.address.host) && isIPv4(to.host) ? `::ffff:${to.host}` : to.host;
    try {
      this.#datagrams.send(bytes, to.port, host, () => {});
    } catch {
      // A port or host that cannot be sent to is a lost packet.
    }
  }

  async dial(to: GossipAddress, signal: AbortSignal): Promise<GossipStream> {
    signal.throwIfAborted();
    if (this.#closed) throw new CodedError("cancelled", "the gossip transport is closed");
    const socket = connect({ host: to.host, port: to.port });
    const stream = this.#track(socket);
    try {
      await once(socket, "connect", { signal });
    } catch (error) {
      socket.destroy();
      throw signal.aborted ? signal.reason : error;
    }
    return stream;
  }

  async resolve(host: string, signal: AbortSignal): Promise<readonly string[]> {
    if (isIPv4(host) || isIPv6(host)) return [host];
    const found = await abortable(lookup(host, { all: true }), signal);
    return found.map(({ address }) => address);
  }

  afterPoll(fn: () => void): void {
    setImmediate(fn);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const closed = [once(this.#server, "close", { signal: neverAborted }), once(this.#datagrams, "close")];
    this.#server.close();
    this.#datagrams.close();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }

  /** Whoever holds many streams and says nothing must not keep everyone else out. */
  #admit(socket: Socket): boolean {
    const nowMs = this.#clock.monotonic();
    const [oldest] = this.#inbound;
    if (oldest && this.#inbound.size >= maxInboundStreams) {
      const [slow, sinceMs] = oldest;
      if (nowMs - sinceMs < slowAfterMs) return false;
      slow.destroy();
      this.#inbound.delete(slow);
    }
    this.#inbound.set(socket, nowMs);
    socket.on("close", () => this.#inbound.delete(socket));
    return true;
  }

  #track(socket: Socket): SocketStream {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    return new SocketStream(socket, this.#clock);
  }
}

/** A wildcard is no address to tell others: then the first one that leads outside, or else loopback. */
function reachableHost(host: string): string {
  if (host !== "0.0.0.0" && host !== "::") return host;
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family, address }) => !internal && (family === "IPv4" || !address.startsWith("fe80")));
  return (outside.find(({ family }) => family === "IPv4") ?? outside[0])?.address ?? "127.0.0.1";
}
