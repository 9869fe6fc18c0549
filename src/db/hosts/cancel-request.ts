import type { Socket } from "node:net";
import pg from "pg";
import type { Clock } from "../../base/index.ts";

/** What the driver knows of a connection, and does not show. */
interface Backend {
  readonly host?: string;
  readonly port?: number;
  readonly ssl?: object | boolean;
  readonly sslNegotiation?: string;
  readonly processID?: number | null;
  readonly secretKey?: number | null;
}

/** The driver's own connection, below its client. */
interface RawConnection extends NodeJS.EventEmitter {
  readonly stream: Socket;
  connect(port: number, host: string): void;
  connect(path: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
}

/**
 * Asks the server to stop what a connection's backend does, over a connection of its own, as the protocol wants it, with TLS where the
 * other one has it: the key is a secret. It may come too late, so it belongs before the end of a connection, never before its next
 * use. Resolves when it is delivered or hopeless, after `timeoutMs` at the latest.
 */
export async function requestCancel(client: pg.ClientBase, timeoutMs: number, clock: Clock): Promise<void> {
  const { host = "localhost", port = 5432, ssl = false, sslNegotiation, processID, secretKey } = client as unknown as Backend;
  if (typeof processID !== "number" || typeof secretKey !== "number") return;
  const connection = new pg.Connection({ ssl, sslNegotiation } as pg.ConnectionConfig) as unknown as RawConnection;
  // Under TLS `stream` is replaced; the plain socket below closes with it.
  const giveUp = () => connection.stream.destroy();
  using _timer = clock.timer(timeoutMs, giveUp);
  await new Promise<void>((resolve) => {
    const ask = () => {
      connection.cancel(processID, secretKey);
      connection.stream.end();
    };
    connection.on("error", giveUp);
    connection.once("connect", () => {
      if (!ssl) ask();
      else if (sslNegotiation !== "direct") connection.requestSsl();
    });
    connection.once("sslconnect", ask);
    // The server answers nothing, and closes.
    connection.once("end", () => resolve());
    if (host.startsWith("/")) connection.connect(`${host}/.s.PGSQL.${port}`);
    else connection.connect(port, host);
  });
}
