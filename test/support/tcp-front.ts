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
  /** Ends the connections that stand, without a farewell. */
  cut(): void;
  /** New connections lead to another port from now on; those that stand stay where they are. */
  lead(port: number): void;
  /** The next new connections are ended as soon as they are there. */
  refuse(count: number): void;
}

const lateMs = 1000;

/** What a front does with what passes. */
export interface TcpFrontOptions {
  /** Changes what the server says. */
  readonly rewrite?: (chunk: Buffer) => Buffer;
  /** How many last bytes of that come later. */
  readonly late?: (chunk: Buffer) => number;
  /** Told what the client says, before it is passed on. */
  readonly onHeard?: (chunk: Buffer) => void;
}

/** Starts a front on loopback before `port`. */
export async function startTcpFront(
  port: number,
  { rewrite = (chunk: Buffer) => chunk, late, onHeard }: TcpFrontOptions = {},
): Promise<TcpFront> {
  const sockets = new Set<Socket>();
  let target = port;
  let swallowing = false;
  let accepted = 0;
  let refusals = 0;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((incoming) => {
    accepted++;
    keep(incoming);
    if (refusals > 0) {
      refusals--;
      incoming.destroy();
      return;
    }
    if (swallowing) return;
    const outgoing = keep(connect(target, "127.0.0.1"));
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      from.on("data", (chunk) => {
        if (swallowing) return;
        if (from === incoming) {
          onHeard?.(chunk);
          if (!to.destroyed) to.write(chunk);
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
    cut,
    lead: (other) => {
      target = other;
    },
    refuse: (count) => {
      refusals = count;
    },
    [Symbol.asyncDispose]: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
