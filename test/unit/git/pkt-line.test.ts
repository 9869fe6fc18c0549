import { expect, test } from "vitest";
import { encodePkt, encodePktString, PktReader, parsePktLength } from "../../../src/git/pkt-line.ts";
import { sideBand } from "../../../src/git/side-band.ts";

async function* stream(...chunks: string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk, "latin1");
}

test("a packet is its length in four hex digits, and its payload", () => {
  expect(encodePkt("want\n").toString()).toBe("0009want\n");
  expect(encodePktString("caf\xe9")).toBe("0008caf\xe9");
  expect(encodePkt(new Uint8Array(65_516)).toString("latin1", 0, 4)).toBe("fff0");
  expect(() => encodePkt(new Uint8Array(65_517))).toThrow("packet is too long");
});

test.each([
  ["0000", 0],
  ["0001", 1],
  ["0002", 2],
  ["0003", undefined],
  ["0004", 4],
  ["fff0", 65_520],
  ["FFF0", 65_520],
  ["fff1", undefined],
  ["00g0", undefined],
  ["+004", undefined],
])("the length %s is %s", (text, length) => {
  expect(parsePktLength(Buffer.from(text))).toBe(length);
});

test("a reader tells the special packets apart and ends at the end", async () => {
  const reader = new PktReader({ maxBytes: 100 }, stream("0006a", "b0000", "00", "0100020004"));
  const types: string[] = [];
  for (let pkt = await reader.next(); pkt; pkt = await reader.next()) types.push(pkt.type);
  expect(types).toEqual(["data", "flush", "delim", "response-end", "data"]);
});

test("a stream that ends inside a packet, and a packet that is too much, are errors", async () => {
  await expect(new PktReader({ maxBytes: 100 }, stream("00")).next()).rejects.toMatchObject({ code: "protocol_error" });
  await expect(new PktReader({ maxBytes: 100 }, stream("0009wa")).next()).rejects.toMatchObject({ code: "protocol_error" });
  await expect(new PktReader({ maxBytes: 8 }, stream("0009want\n")).next()).rejects.toMatchObject({ code: "limit_exceeded" });
});

test("letting a reader go closes its source", async () => {
  let closed = false;
  const source = (async function* () {
    try {
      yield Buffer.from("0000");
      yield Buffer.from("more");
    } finally {
      closed = true;
    }
  })();
  const reader = new PktReader({ maxBytes: 100 }, source);
  await reader.next();
  for await (const _ of reader.rest()) break;
  await Promise.resolve();
  expect(closed).toBe(true);
});

test("a band's data is split where a packet is full", () => {
  const pkts = [...sideBand(1, new Uint8Array(65_515 + 3))];
  expect(pkts.map((pkt) => pkt.length)).toEqual([65_520, 8]);
  expect(pkts.map((pkt) => pkt[4])).toEqual([1, 1]);
  expect([...sideBand(2, "")]).toEqual([]);
});
