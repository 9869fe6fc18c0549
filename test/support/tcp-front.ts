import { connect, createServer, type Socket } from "node:net";

/** Passes connections on to a port of this host, until it is told to swallow what comes. */
export interface TcpFront extends AsyncDisposable {
  readonly port: number;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** From now on nothing passes in either direction, while connections stand and new ones are taken. */
  swallow(): void;
  /** Everything passes again; what stood meanwhile is cut. */
  pass(): void;
}

const lateMs = 1000;

/** Starts a front on loopback before `port`. `rewrite` changes what the server says; of that, `late` last bytes come later. */
export async function startTcpFront(
  port: number,
  { rewrite = (chunk: Buffer) => chunk, late }: { rewrite?: (chunk: Buffer) => Buffer; late?: (chunk: Buffer) => number } = {},
): Promise<TcpFront> {
  const sockets = new Set<Socket>();
  let swallowing = false;
  let accepted = 0;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((incoming) => {
    accepted++;
    keep(incoming);
    if (swallowing) return;
    const outgoing = keep(connect(port, "127.0.0.1"));
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      from.on("data", (chunk) => {
        if (swallowing) return;
        if (from === incoming) {
          to.write(chunk);
          return;
        }
        const said = rewrite(chunk);
        const atOnce = said.length - (late?.(said) ?? 0);
        if (atOnce > 0) to.write(said.subarray(0, atOnce));
        if (atOnce < said.length) setTimeout(() => to.write(said.subarray(atOnce)), lateMs);
      });
      from.on("close", () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as { port: number }).port,
    get accepted() {
      return accepted;
    },
    swallow: () => {
      swallowing = true;
    },
    pass: () => {
      swallowing = false;
      cut();
    },
    [Symbol.asyncDispose]: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
