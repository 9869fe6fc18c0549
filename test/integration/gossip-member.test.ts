import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { expect, test } from "vitest";
import { neverAborted, startDeadline, systemClock, systemRandom } from "../../src/base/index.ts";
import { bindUdpTcp, createMember, type Member, type MemberEvent, type MemberOptions } from "../../src/gossip/index.ts";
import { noMetrics, silentLogger } from "../../src/observability/index.ts";

function start(name: string, options: Partial<MemberOptions> = {}): Promise<Member> {
  return createMember(
    { name, bindHost: "127.0.0.1", bindPort: 0, ...options },
    {
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      metrics: noMetrics,
      transport: (bind) => bindUdpTcp(bind, { clock: systemClock }),
    },
  );
}

/** Resolves when `condition` holds after some event of `member`. */
async function when(member: Member, condition: () => boolean, withinMs: number): Promise<void> {
  if (condition()) return;
  using deadline = startDeadline(systemClock, withinMs);
  await new Promise<void>((resolve, reject) => {
    const subscription = member.subscribe(() => {
      if (!condition()) return;
      subscription[Symbol.dispose]();
      resolve();
    });
    deadline.signal.addEventListener("abort", () => reject(deadline.signal.reason));
  });
}

const alive = (member: Member) => member.members().filter(({ state }) => state === "alive");
const stateAt = (member: Member, name: string) => member.members().find((record) => record.name === name)?.state;

async function startThree(options: Partial<MemberOptions> = {}): Promise<[Member, Member, Member]> {
  const [a, b, c] = await Promise.all([start("a", options), start("b", options), start("c", options)]);
  expect(await b.join([a.address], neverAborted)).toBe(1);
  expect(await c.join([a.address], neverAborted)).toBe(1);
  await Promise.all([a, b, c].map((member) => when(member, () => alive(member).length === 3, 2000)));
  return [a, b, c];
}

test("three members join within 2 s, metadata spreads, a leave is a leave, a killed one fails", async () => {
  const [a, b, c] = await startThree();
  await using _a = a;
  const events: MemberEvent[] = [];
  a.subscribe((event) => events.push(event));
  b.setMeta(Uint8Array.of(7));
  await when(a, () => a.members()[1]?.meta[0] === 7, 2000);
  await b.leave(neverAborted);
  await when(a, () => stateAt(a, "b") === "left", 2000);
  await b.close();
  await c.destroy();
  await when(a, () => stateAt(a, "c") === "dead", 20_000);
  expect(events.map((event) => event.type)).toEqual(["updated", "left", "suspected", "failed"]);
});

test("members with a label and an encryption key join, and one with another key does not", async () => {
  const options = { label: "blue", encryptionKeys: [new Uint8Array(32).fill(1)] };
  const [a, b, c] = await startThree(options);
  await using _a = a;
  await using _b = b;
  await using _c = c;
  await using stranger = await start("d", { ...options, encryptionKeys: [new Uint8Array(32).fill(2)], streamTimeoutMs: 500 });
  await expect(stranger.join([a.address], neverAborted)).rejects.toMatchObject({ code: "cluster_mismatch", fields: { reason: "key" } });
  expect(alive(a)).toHaveLength(3);
});

test("a query shows a member's view and leaves no trace in it", async () => {
  await using a = await start("a", { meta: Uint8Array.of(1) });
  await using b = await start("b");
  const view = await b.queryMembers({ host: "localhost", port: a.address.port }, neverAborted);
  expect(view.members).toEqual([{ name: "a", ...a.address, meta: Uint8Array.of(1), state: "alive", incarnation: 1 }]);
  expect(a.members()).toHaveLength(1);
});

test("a port that is taken for TCP or for UDP is an error, and nothing stays open", async () => {
  await using a = await start("a");
  await expect(start("b", { bindPort: a.address.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  // Nobody else's connections begin at this address, so the number stays free for TCP.
  const host = "127.0.0.5";
  const udp = createSocket("udp4");
  udp.bind({ address: host, port: 0 });
  await once(udp, "listening");
  const { port } = udp.address();
  await expect(start("b", { bindHost: host, bindPort: port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  const server = createServer().listen({ host, port });
  await once(server, "listening");
  server.close();
  udp.close();
});

test("joining where nobody listens fails, joining oneself alone is nothing", async () => {
  await using a = await start("a");
  await expect(a.join([{ host: "127.0.0.1", port: 1 }], neverAborted)).rejects.toMatchObject({ code: "node_unavailable" });
  expect(await a.join([a.address], neverAborted)).toBe(0);
});

test("an HTTP request to the gossip port is answered by closing the connection", async () => {
  await using a = await start("a");
  const socket = connect(a.address.port, "127.0.0.1");
  socket.write("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  socket.resume();
  await once(socket, "close");
  expect(alive(a)).toHaveLength(1);
});

test("a silent connection is closed after the stream timeout", async () => {
  await using a = await start("a", { streamTimeoutMs: 200 });
  const socket = connect(a.address.port, "127.0.0.1");
  socket.resume();
  await once(socket, "close");
});

test("closing ends a stream that a peer holds open", async () => {
  const a = await start("a");
  const socket = connect(a.address.port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.resume();
  const closed = once(socket, "close");
  await a.close();
  await closed;
});

test("metadata above 512 bytes, a name or a key of a wrong length is a typed error", async () => {
  await using a = await start("a");
  expect(() => a.setMeta(new Uint8Array(513))).toThrow(expect.objectContaining({ code: "limit_exceeded" }));
  expect(() => a.broadcast(new Uint8Array(513))).toThrow(expect.objectContaining({ code: "limit_exceeded" }));
  await expect(start("b", { meta: new Uint8Array(513) })).rejects.toMatchObject({ code: "limit_exceeded" });
  await expect(start("")).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(start("b", { encryptionKeys: [new Uint8Array(5)] })).rejects.toMatchObject({ code: "invalid_argument" });
});
