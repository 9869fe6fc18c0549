import fc from "fast-check";
import { expect, test } from "vitest";
import { CodedError } from "../../src/base/index.ts";
import { encodePkt, type Pkt, PktReader } from "../../src/git/pkt-line.ts";
import { PktScanner } from "../../src/git/pkt-scanner.ts";
import { readPushRequest } from "../../src/git/push-request.ts";

async function* chunksOf(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let offset = 0;
  for (const cut of cuts) {
    yield bytes.subarray(offset, offset + cut);
    offset += cut;
  }
  yield bytes.subarray(offset);
}

const cuts = fc.array(fc.nat(20), { maxLength: 30 });
/** Bytes that look like packets often enough to get somewhere. */
const almostPackets = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => encodePkt(bytes)),
      fc.constantFrom("0000", "0001", "0002", "0003", "0004", "fff0", "fff1", "00000").map((text) => Buffer.from(text)),
      fc
        .constantFrom(" refs/heads/x\0report-status", " refs/heads/y")
        .map((rest) => encodePkt(`${"0".repeat(40)} ${"1".repeat(40)}${rest}`)),
      fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Buffer.concat(parts));

const legalCodes = ["protocol_error", "limit_exceeded"];

test("any bytes in any pieces are read to an end or to a legal error", async () => {
  await fc.assert(
    fc.asyncProperty(almostPackets, cuts, async (bytes, sizes) => {
      const reader = new PktReader({ maxBytes: 1000 }, chunksOf(bytes, sizes));
      try {
        while (await reader.next());
      } catch (error) {
        expect(CodedError.is(error) && legalCodes.includes(error.code)).toBe(true);
      }
    }),
    { numRuns: 2000, interruptAfterTimeLimit: 15_000 },
  );
});

test("packets come out as they went in, whatever the pieces, and the rest is handed over", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 10 }),
      fc.uint8Array(),
      cuts,
      async (payloads, rest, sizes) => {
        const bytes = Buffer.concat([...payloads.map((payload) => encodePkt(payload)), Buffer.from("0000"), rest]);
        const reader = new PktReader({ maxBytes: 100_000 }, chunksOf(bytes, sizes));
        const read: Uint8Array[] = [];
        let pkt: Pkt | undefined = await reader.next();
        for (; pkt?.type === "data"; pkt = await reader.next()) read.push(new Uint8Array(pkt.payload));
        expect(pkt).toEqual({ type: "flush" });
        expect(read).toEqual(payloads);
        const left: Uint8Array[] = [];
        for await (const chunk of reader.rest()) left.push(chunk);
        expect(new Uint8Array(Buffer.concat(left))).toEqual(rest);
      },
    ),
    { numRuns: 1000, interruptAfterTimeLimit: 15_000 },
  );
});

test("a scanner sees the same packets as a reader, and is at a border exactly where the reader could stop", async () => {
  await fc.assert(
    fc.asyncProperty(almostPackets, cuts, async (bytes, sizes) => {
      const seen: [string, number][] = [];
      const scanner = new PktScanner((prefix, payloadBytes) => seen.push([prefix, payloadBytes]));
      for await (const chunk of chunksOf(bytes, sizes)) scanner.push(chunk);
      const reader = new PktReader({ maxBytes: 100_000 }, chunksOf(bytes, []));
      const expected: [string, number][] = [];
      let clean = true;
      try {
        for (let pkt = await reader.next(); pkt; pkt = await reader.next()) {
          if (pkt.type === "data") expected.push([pkt.payload.toString("latin1", 0, 16), pkt.payload.length]);
        }
      } catch {
        clean = false;
      }
      expect(seen).toEqual(expected);
      expect(scanner.atBorder).toBe(clean);
    }),
    { numRuns: 2000, interruptAfterTimeLimit: 15_000 },
  );
});

test("any bytes are a push request, no push, or a legal error", async () => {
  await fc.assert(
    fc.asyncProperty(almostPackets, cuts, async (bytes, sizes) => {
      try {
        const request = await readPushRequest(new PktReader({ maxBytes: 1000 }, chunksOf(bytes, sizes)), "sha1");
        for (const change of request?.changes ?? []) expect(change.ref).not.toBe("");
      } catch (error) {
        expect(CodedError.is(error) && legalCodes.includes(error.code)).toBe(true);
      }
    }),
    { numRuns: 2000, interruptAfterTimeLimit: 15_000 },
  );
});
