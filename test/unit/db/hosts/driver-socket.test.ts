import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { beforeAll, expect, test, vi } from "vitest";
import { DriverSocket } from "../../../../src/db/hosts/driver-socket.ts";
import { RoleClient } from "../../../../src/db/hosts/role-client.ts";

let port: number;
let accepted: Promise<Socket>;

beforeAll(async () => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
  const next = () => {
    accepted = once(server, "connection").then(([peer]) => peer as Socket);
    void accepted.then(next);
  };
  next();
  return () => new Promise<void>((resolve) => server.close(() => resolve()));
});

async function connected() {
  const peerComes = accepted;
  const socket = new DriverSocket();
  socket.setNoDelay(true);
  socket.connect(port, "127.0.0.1");
  await once(socket, "connect");
  const peer = await peerComes;
  const close = async () => {
    socket.destroy();
    peer.destroy();
    await Promise.all([socket.closed || once(socket, "close"), peer.closed || once(peer, "close")]);
  };
  return { socket, peer, [Symbol.asyncDispose]: close };
}

/** Everything that comes until there are as many bytes. */
async function collect(from: Socket, bytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of from.iterator({ destroyOnReturn: false })) {
    pieces.push(piece);
    length += piece.length;
    if (length >= bytes) break;
  }
  return Buffer.concat(pieces);
}

function writeCorked(socket: Socket, pieces: readonly Buffer[]): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.cork();
    for (const [i, piece] of pieces.entries()) {
      socket.write(piece, (error) => {
        if (error) reject(error);
        else if (i === pieces.length - 1) resolve();
      });
    }
    socket.uncork();
  });
}

test.each([
  ["small messages", [3, 1, 200, 10, 5]],
  ["messages that are longer together than a piece may be", [10, 40_000, 7, 90_000]],
])("%s that are written in one go arrive whole and in order, and each is told so", async (_name, sizes) => {
  await using ends = await connected();
  const pieces = sizes.map((size, i) => Buffer.alloc(size, i + 1));
  const whole = Buffer.concat(pieces);
  const arrives = collect(ends.peer, whole.length);
  const handle = (ends.socket as unknown as { _handle: { writev: (...args: unknown[]) => unknown } })._handle;
  const writev = vi.spyOn(handle, "writev");
  await writeCorked(ends.socket, pieces);
  // Much is not copied only to be sent.
  expect(writev).toHaveBeenCalledTimes(whole.length > 16 * 1024 ? 1 : 0);
  expect((await arrives).equals(whole)).toBe(true);
});

test("connections to PostgreSQL have it", () => {
  const { connection } = new RoleClient({ host: "127.0.0.1" }) as unknown as { connection: { stream: unknown } };
  expect(connection.stream).toBeInstanceOf(DriverSocket);
});

test("small messages leave in one piece", async () => {
  await using ends = await connected();
  const before = ends.socket.bytesWritten;
  const handle = (ends.socket as unknown as { _handle: { writev: unknown } })._handle;
  handle.writev = () => {
    throw new Error("a list of pieces");
  };
  await writeCorked(ends.socket, [Buffer.from("ab"), Buffer.from("cd")]);
  expect(ends.socket.bytesWritten - before).toBe(4);
});

test("what has come in is not changed by what comes later, on this socket or another", async () => {
  await using one = await connected();
  await using other = await connected();
  const firstComes = once(one.socket, "data");
  one.peer.write("first");
  const [first] = (await firstComes) as [Buffer];
  for (const { socket, peer } of [one, other]) {
    const laterComes = once(socket, "data");
    peer.write("later");
    await laterComes;
  }
  expect(String(first)).toBe("first");
});

test("more than a buffer holds comes in whole, and then the end", async () => {
  await using ends = await connected();
  const whole = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251));
  const pieces: Buffer[] = [];
  ends.socket.on("data", (piece: Buffer) => pieces.push(piece));
  const ended = once(ends.socket, "end");
  ends.peer.end(whole);
  await ended;
  expect(Buffer.concat(pieces).equals(whole)).toBe(true);
});
