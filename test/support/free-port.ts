import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/** A TCP port of loopback that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** A number that is free for TCP and for UDP on loopback. */
export async function freeUdpTcpPort(): Promise<number> {
  for (;;) {
    const port = await freePort();
    const socket = createSocket("udp4");
    try {
      socket.bind(port, "127.0.0.1");
      await once(socket, "listening");
      return port;
    } catch {
      // Taken for UDP.
    } finally {
      socket.close();
    }
  }
}
