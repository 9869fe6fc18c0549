import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { bindUdpTcp } from "../../src/gossip/index.ts";
import { SimClock } from "../support/sim-clock.ts";
import { until } from "../support/until.ts";

test("who holds all streams keeps others out for a second, then the oldest makes room", async () => {
  const clock = new SimClock();
  const transport = await bindUdpTcp({ host: "127.0.0.1", port: 0 }, { clock });
  const sockets: Socket[] = [];
  let served = 0;
  try {
    transport.start({ onPacket: () => {}, onStream: async () => void served++ });
    const open = async () => {
      const socket = connect(transport.address.port, "127.0.0.1");
      sockets.push(socket.on("error", () => {}).resume());
      await once(socket, "connect");
      return socket;
    };
    const first = await open();
    for (let i = 1; i < 128; i++) await open();
    await until("128 streams are served", () => served === 128);
    const refused = await open();
    await once(refused, "close");
    expect([served, first.closed]).toEqual([128, false]);

    await clock.advance(1000);
    const ended = once(first, "close");
    const late = await open();
    await ended;
    await until("one more is served", () => served === 129);
    expect(late.closed).toBe(false);
  } finally {
    for (const socket of sockets) socket.destroy();
    await transport.close();
  }
});
