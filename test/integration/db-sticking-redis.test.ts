import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { connectRedis } from "../../src/db/index.ts";
import { silentLogger } from "../../src/observability/index.ts";
import { until } from "../support/until.ts";

test("a Redis server that takes connections and says nothing is left and tried again", async () => {
  const sockets = new Set<Socket>();
  let ended = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => void ended++);
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const store = await connectRedis(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`, {}, { logger: silentLogger });
    try {
      await until("a second connection", () => sockets.size >= 2);
      expect(ended).toBeGreaterThan(0);
    } finally {
      await store[Symbol.asyncDispose]();
    }
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
});
