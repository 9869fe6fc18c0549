import type { Socket } from "node:net";
import { abortable, type Clock, CodedError } from "../base/index.ts";
import { type GossipAddress, plainHost } from "./address.ts";
import type { GossipStream } from "./transport.ts";

/** How long a closed stream may take to send what it has. */
const lingerMs = 1000;
const readEvents = ["readable", "end", "close"] as const;

/** A TCP socket as a gossip stream. Reads on demand, so that a peer cannot fill memory. */
export class SocketStream implements GossipStream {
  readonly #socket: Socket;
  readonly #clock: Clock;
  #error: Error | undefined;

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    socket.setNoDelay(true);
    socket.on("error", (error) => {
      this.#error = error;
    });
  }

  get remote(): GossipAddress {
    return { host: plainHost(this.#socket.remoteAddress ?? ""), port: this.#socket.remotePort ?? 0 };
  }

  async write(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    const written = new Promise<void>((resolve, reject) => {
      this.#socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
    try {
      await abortable(written, signal);
    } catch (error) {
      this.#socket.destroy();
      throw error;
    }
  }

  async read(signal: AbortSignal): Promise<Uint8Array | undefined> {
    for (;;) {
      signal.throwIfAborted();
      const chunk = this.#socket.read() as Buffer | null;
      if (chunk) return chunk;
      if (this.#socket.readableEnded) return undefined;
      if (this.#socket.destroyed) throw this.#error ?? new CodedError("protocol_error", "a peer closed the stream early");
      await this.#readEvent(signal);
    }
  }

  close(): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    const timer = this.#clock.timer(lingerMs, () => socket.destroy());
    socket.on("close", () => timer[Symbol.dispose]());
    socket.end();
    // Unread bytes would keep the end of the peer's side from being seen.
    socket.resume();
  }

  #readEvent(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        signal.removeEventListener("abort", onAbort);
        for (const event of readEvents) this.#socket.off(event, onEvent);
      };
      const onEvent = () => {
        settle();
        resolve();
      };
      const onAbort = () => {
        settle();
        this.#socket.destroy();
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      for (const event of readEvents) this.#socket.on(event, onEvent);
    });
  }
}
