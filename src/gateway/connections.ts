import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Connections and the requests that run on them. Node's own notion of an idle connection leaves out those that have not sent
 * anything yet, and one such would keep a closing server open.
 */
export class Connections {
  readonly #running = new Map<Socket, number>();
  #closing = false;

  /** Begins to count; call it once. */
  watch(server: Server): void {
    server.on("connection", (socket: Socket) => {
      this.#running.set(socket, 0);
      socket.on("close", () => this.#running.delete(socket));
    });
    server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#add(socket, 1);
      response.on("close", () => {
        this.#add(socket, -1);
        if (this.#closing && this.#running.get(socket) === 0) socket.destroySoon();
      });
    });
  }

  /** Ends the connections without a running request, now and whenever one becomes such. */
  closeIdle(): void {
    this.#closing = true;
    for (const [socket, running] of this.#running) if (running === 0) socket.destroySoon();
  }

  #add(socket: Socket, count: number): void {
    const running = this.#running.get(socket);
    if (running !== undefined) this.#running.set(socket, running + count);
  }
}
