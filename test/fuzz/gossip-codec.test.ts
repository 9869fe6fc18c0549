import fc from "fast-check";
import { expect, test } from "vitest";
import { CodedError } from "../../src/base/index.ts";
import { makeCompounds } from "../../src/gossip/codec/compound.ts";
import { compressMessage } from "../../src/gossip/codec/compress.ts";
import { openPacket } from "../../src/gossip/codec/packet.ts";
import { encodePacketMessage } from "../../src/gossip/codec/packet-message.ts";
import { StreamReader, sealStream } from "../../src/gossip/codec/stream.ts";
import { simRandom } from "../support/sim-random.ts";

const envelopes = [
  { label: "", keys: [] },
  { label: "blue", keys: [] },
  { label: "", keys: [new Uint8Array(16)] },
];
const address = Uint8Array.of(127, 0, 0, 1);
const source = { address, port: 1, node: "n2" };
const versions = Uint8Array.of(1, 5, 2, 0, 0, 0);
const seeds: Uint8Array[] = [
  encodePacketMessage({ type: "ping", seqNo: 300, node: "n1", source }),
  encodePacketMessage({ type: "indirectPing", seqNo: 1, target: address, port: 7, node: "n1", nack: true, source }),
  encodePacketMessage({ type: "suspect", incarnation: 300, node: "n1", from: "n2" }),
  encodePacketMessage({ type: "alive", incarnation: 1, node: "n1", address, port: 1, meta: new Uint8Array(40), versions }),
];
const compound = makeCompounds(seeds)[0] as Uint8Array;
const packets = [...seeds, compound, compressMessage(compound)];
const streams = [true, false].map((compress) =>
  sealStream(
    {
      type: "pushPull",
      join: true,
      nodes: [{ name: "n1", address, port: 1, meta: address, incarnation: 1, state: "alive", versions }],
      userState: new Uint8Array(10),
    },
    { label: "", keys: [], compress, dialled: false },
    simRandom(1),
  ),
);

/** A valid message with some bytes changed, removed or added, or just bytes. */
function hostile(valid: readonly Uint8Array[], maxLength: number): fc.Arbitrary<Uint8Array> {
  const edit = fc.record({ at: fc.nat(400), byte: fc.nat(255), kind: fc.constantFrom("set", "cut", "insert") });
  const mutated = fc.tuple(fc.constantFrom(...valid), fc.array(edit, { minLength: 1, maxLength: 6 })).map(([bytes, edits]) => {
    const list = [...bytes];
    for (const { at, byte, kind } of edits) {
      const index = at % (list.length + 1);
      if (kind === "set" && index < list.length) list[index] = byte;
      else if (kind === "cut") list.splice(index, byte % 8);
      else list.splice(index, 0, byte);
    }
    return Uint8Array.from(list);
  });
  return fc.oneof(mutated, fc.uint8Array({ maxLength }));
}

const bounded = { interruptAfterTimeLimit: 4000, numRuns: 20_000, markInterruptAsFailure: false } as const;

function onlyProtocolErrors(fn: () => void): void {
  try {
    fn();
  } catch (error) {
    if (!CodedError.is(error, "protocol_error")) throw error;
  }
}

test("any datagram is messages or a protocol error, in bounded time", () => {
  fc.assert(
    fc.property(hostile(packets, 2000), fc.constantFrom(...envelopes), (bytes, envelope) => {
      onlyProtocolErrors(() => {
        const { messages, problems } = openPacket(bytes, envelope);
        expect(messages.length).toBeLessThanOrEqual(2048);
        for (const problem of problems) expect(problem.code).toBe("protocol_error");
      });
    }),
    bounded,
  );
});

test("any stream, in chunks of any size, is a message, a wait for more or a protocol error", () => {
  fc.assert(
    fc.property(hostile(streams, 1000), fc.integer({ min: 1, max: 300 }), fc.constantFrom(...envelopes), (bytes, size, envelope) => {
      const reader = new StreamReader(envelope, true);
      onlyProtocolErrors(() => {
        for (let at = 0; at < bytes.length; at += size) if (reader.push(bytes.subarray(at, at + size))) return;
      });
    }),
    bounded,
  );
});

test("the largest datagrams of nested compounds and compressed zeros end quickly", () => {
  let bomb: Uint8Array = new Uint8Array(60_000);
  for (let i = 0; i < 6; i++) bomb = compressMessage(bomb);
  const parts = Array.from({ length: 255 }, () => compressMessage(new Uint8Array(200_000)));
  const wide = makeCompounds(parts)[0] as Uint8Array;
  const empty = makeCompounds(Array.from({ length: 255 }, () => new Uint8Array()))[0] as Uint8Array;
  const deep = makeCompounds(Array.from({ length: 100 }, () => empty))[0] as Uint8Array;
  for (const bytes of [bomb, wide, deep]) onlyProtocolErrors(() => openPacket(bytes, { label: "", keys: [] }));
});
