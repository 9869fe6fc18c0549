import { expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import type { GossipAddress, GossipStream, Transport, TransportHandlers } from "../../src/gossip/index.ts";

/** What a transport under test must offer: two on one network, with `hostB` not equal to what A is bound to if the network needs that. */
export interface TransportSetup {
  bindA(): Promise<Transport>;
  bindB(): Promise<Transport>;
}

const handlers = (given: Partial<TransportHandlers> = {}): TransportHandlers => ({
  onPacket: () => {},
  onStream: async (stream) => stream.close(),
  ...given,
});

async function withPair(setup: TransportSetup, body: (a: Transport, b: Transport) => Promise<void>): Promise<void> {
  const a = await setup.bindA();
  const b = await setup.bindB();
  try {
    await body(a, b);
  } finally {
    await Promise.all([a.close(), b.close()]);
  }
}

async function readAll(stream: GossipStream): Promise<string> {
  const chunks: Uint8Array[] = [];
  for (let chunk = await stream.read(neverAborted); chunk; chunk = await stream.read(neverAborted)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** The contract of a gossip transport, as tests. */
export function describeGossipTransport(name: string, setup: TransportSetup): void {
  test(`${name}: a datagram arrives whole, with the sender's address`, () =>
    withPair(setup, async (a, b) => {
      const arrived = new Promise<[string, GossipAddress]>((resolve) => {
        b.start(handlers({ onPacket: (bytes, from) => resolve([Buffer.from(bytes).toString(), from]) }));
      });
      a.start(handlers());
      a.sendPacket(Buffer.from("hello"), b.address);
      expect(await arrived).toEqual(["hello", a.address]);
    }));

  test(`${name}: sending to nobody, and after the end, is silent`, () =>
    withPair(setup, async (a, b) => {
      a.start(handlers());
      const address = b.address;
      await b.close();
      a.sendPacket(Buffer.from("x"), address);
      a.sendPacket(Buffer.from("x"), { host: "not an address", port: 99_999 });
      await a.close();
      a.sendPacket(Buffer.from("x"), address);
    }));

  test(`${name}: a stream carries bytes both ways, each side sees the other's end`, () =>
    withPair(setup, async (a, b) => {
      a.start(handlers());
      b.start(
        handlers({
          onStream: async (stream) => {
            const first = await stream.read(neverAborted);
            await stream.write(Buffer.concat([Buffer.from("echo "), first ?? Buffer.alloc(0)]), neverAborted);
            stream.close();
          },
        }),
      );
      const stream = await a.dial(b.address, neverAborted);
      expect(stream.remote).toEqual(b.address);
      await stream.write(Buffer.from("hello"), neverAborted);
      expect(await readAll(stream)).toBe("echo hello");
      stream.close();
    }));

  test(`${name}: a large answer arrives whole although the sender closed at once`, () =>
    withPair(setup, async (a, b) => {
      a.start(handlers());
      const large = "x".repeat(1 << 20);
      b.start(
        handlers({
          onStream: async (stream) => {
            await stream.write(Buffer.from(large), neverAborted).catch(() => {});
            stream.close();
          },
        }),
      );
      const stream = await a.dial(b.address, neverAborted);
      expect((await readAll(stream)).length).toBe(large.length);
      stream.close();
    }));

  test(`${name}: dialling nobody rejects`, () =>
    withPair(setup, async (a, b) => {
      const address = b.address;
      await b.close();
      await expect(a.dial(address, neverAborted)).rejects.toThrow();
    }));

  test(`${name}: a read ends with the signal's reason`, () =>
    withPair(setup, async (a, b) => {
      b.start(handlers({ onStream: async () => {} }));
      const stream = await a.dial(b.address, neverAborted);
      const stop = new AbortController();
      const reading = stream.read(stop.signal);
      stop.abort(new Error("enough"));
      await expect(reading).rejects.toThrow("enough");
      stream.close();
    }));

  test(`${name}: closing breaks open streams, and may be done twice`, () =>
    withPair(setup, async (a, b) => {
      let reading: Promise<unknown> | undefined;
      const opened = new Promise<void>((resolve) => {
        b.start(
          handlers({
            onStream: async (stream) => {
              reading = stream.read(neverAborted).catch((error: unknown) => error);
              resolve();
            },
          }),
        );
      });
      const stream = await a.dial(b.address, neverAborted);
      await opened;
      await b.close();
      await b.close();
      expect(await reading).toBeInstanceOf(Error);
      stream.close();
    }));

  test(`${name}: a stream that comes before the start is ended, and does not keep the transport open`, () =>
    withPair(setup, async (a, b) => {
      a.start(handlers());
      const stream = await a.dial(b.address, neverAborted);
      await expect(readAll(stream).catch(() => "")).resolves.toBe("");
      stream.close();
      await b.close();
    }));

  test(`${name}: an address resolves to itself`, () =>
    withPair(setup, async (a) => {
      expect(await a.resolve("127.0.0.1", neverAborted)).toEqual(["127.0.0.1"]);
    }));
}
