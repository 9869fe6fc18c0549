import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Connections and the requests that run on them. Node's own notion of an idle connection leaves out those that have not sent
 * anything yet, and one such would keep a closing server open.
 */
export class Connections {
  readonly #running = new Map<Socket, Set<ServerResponse>>();
  #closing = false;

  /** Begins to count; call it once. */
  watch(server: Server): void {
    server.on("connection", (socket: Socket) => {
      this.#running.set(socket, new Set());
      socket.on("close", () => this.#running.delete(socket));
    });
    server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#running.get(socket)?.add(response);
      response.on("close", () => {
        this.#running.get(socket)?.delete(response);
        if (this.#closing && this.#running.get(socket)?.size === 0) socket.destroySoon();
      });
    });
  }

  /** Ends the connections without a running request, now and whenever one becomes such. */
  closeIdle(): void {
    this.#closing = true;
    for (const [socket, running] of this.#running) if (running.size === 0) socket.destroySoon();
  }

  /** Whether an answer has begun on the connection and not ended. */
  isAnswering(socket: Socket): boolean {
    return [...(this.#running.get(socket) ?? [])].some((response) => response.headersSent);
  }
}
