import type { Http2Server } from "node:http2";
import type { Socket } from "node:net";
import type { Server } from "@grpc/grpc-js";

/**
 * The sockets of a server's connections, found through a field that grpc-js does not document. Neither grpc-js nor node's
 * HTTP/2 ends a connection that was told to close before its client answers, and a silent client never does.
 */
export class OpenSockets {
  readonly #sockets = new Set<Socket>();

  /** Begins to collect; call it once the server is bound. */
  watch(server: Server): void {
    const { http2Servers } = server as unknown as { readonly http2Servers?: Map<Http2Server, unknown> };
    for (const http2Server of http2Servers?.keys() ?? []) {
      http2Server.on("connection", (socket: Socket) => {
        this.#sockets.add(socket);
        socket.on("close", () => this.#sockets.delete(socket));
      });
    }
  }

  /** Ends all of them at once. */
  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
