import { connect, type Socket } from "node:net";
import type pg from "pg";
import type { Clock } from "../../base/index.ts";

const cancelRequestCode = 80_877_102;

/** What the driver knows of a connection, and does not show. */
interface Backend {
  readonly host?: string;
  readonly port?: number;
  readonly processID?: number | null;
  readonly secretKey?: number | null;
}

/**
 * Asks the server to stop what a connection's backend does, over a connection of its own, as the protocol wants it. It may come too
 * late, so it belongs before the end of a connection, never before its next use. Resolves when it is delivered or hopeless, after
 * `timeoutMs` at the latest.
 */
export async function requestCancel(client: pg.ClientBase, timeoutMs: number, clock: Clock): Promise<void> {
  const { host = "localhost", port = 5432, processID, secretKey } = client as unknown as Backend;
  if (typeof processID !== "number" || typeof secretKey !== "number") return;
  const message = Buffer.alloc(16);
  message.writeInt32BE(16, 0);
  message.writeInt32BE(cancelRequestCode, 4);
  message.writeInt32BE(processID, 8);
  message.writeInt32BE(secretKey, 12);
  let socket: Socket | undefined;
  using _timer = clock.timer(timeoutMs, () => socket?.destroy());
  await new Promise<void>((resolve) => {
    socket = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    socket.once("connect", () => socket?.end(message));
    socket.on("error", () => {});
    // The server answers nothing, and closes.
    socket.resume();
    socket.once("close", () => resolve());
  });
}
